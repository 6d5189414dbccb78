#include "fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/options.h"
#include "data/corpus.h"
#include "data/lines.h"
#include "data/question_reader.h"
#include "data/sequence_store.h"
#include "data/stored_parallel_text.h"
#include "data/tmx.h"
#include "data/token_corpus.h"
#include "families/gguf_tokenizer.h"
#include "families/json/sentence_piece_json.h"
#include "families/json/start_token.h"
#include "families/marian.h"
#include "families/marian_shortlist.h"
#include "families/vocabulary.h"
#include "formats/ctranslate2_file.h"
#include "formats/event_file.h"
#include "formats/gguf.h"
#include "formats/idx.h"
#include "formats/image_file.h"
#include "formats/marian_bin.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "fuzz/http_bytes.h"
#include "fuzz/http_requests.h"
#include "model/config.h"
#include "model_folder/config_file.h"
#include "model_folder/shortlist.h"
#include "tasks/classification/config.h"
#include "tasks/image_captioning/config.h"
#include "tasks/image_classification/config.h"
#include "tasks/language_model/config.h"
#include "tasks/language_model/conversation.h"
#include "tasks/language_model/text_stream.h"
#include "tasks/masked_language_model/config.h"
#include "tasks/question_answering/config.h"
#include "tasks/translation/config.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/markdown_leaves.h"
#include "tasks/translation/markup/po_messages.h"
#include "tasks/translation/markup/translate_markup.h"
#include "tasks/translation/markup/xliff_units.h"
#include "tasks/translation/n_best.h"
#include "text/characters.h"
#include "text/chat_templates.h"
#include "text/glossary.h"
#include "text/sentence_piece.h"
#include "text/sentences.h"
#include "text/text_templates.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"
#include "text/vocabulary_files.h"
#include "text/whitespace.h"
#include "text/word_links.h"
#include "train/state.h"
#include "train/tensorboard.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

using Bytes = std::span<const uint8_t>;

/// The bytes as a file that has a name.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : descriptor_(memfd_create("fuzz", 0)) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written != static_cast<ssize_t>(bytes.size())) throw std::bad_alloc();
  }
  ~MemoryFile() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Every tensor is looked at, as an importer would.
void look_at(const TensorMap& tensors) {
  for (const std::string& name : tensors.names()) {
    const TensorInfo& tensor = tensors.at(name);
    if (tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16)
      to_floats(tensor);
  }
}

void safetensors(Bytes bytes) { look_at(read_safetensors(MemoryFile(bytes).path())); }
void npz(Bytes bytes) { look_at(read_npz(MemoryFile(bytes).path())); }
void marian_bin(Bytes bytes) { look_at(read_marian_bin(MemoryFile(bytes).path())); }
/// The bytes of a binary shortlist with the checksum of its contents, which a fuzzer would not find.
std::string with_checksum(std::string bytes) {
  constexpr size_t begin = 16, word = sizeof(uint64_t);
  uint64_t hash = 0;
  for (size_t at = begin; at + word <= bytes.size(); at += word) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, word);
    hash ^= value + 0x9e3779b9 + (hash << 6) + (hash >> 2);
  }
  if (bytes.size() >= begin) std::memcpy(bytes.data() + word, &hash, word);
  return bytes;
}
void marian_shortlist(Bytes bytes) {
  static const auto tokenizer = load_whitespace("<unk>\n</s>\ndog\ncat\nhund\n", "vocab");
  const std::string text = text_of(bytes);
  for (const std::string& one : {text, with_checksum(text)}) {
    const MemoryFile file({reinterpret_cast<const uint8_t*>(one.data()), one.size()});
    try {
      const Shortlist list = read_marian_shortlist({file.path(), "2", "3"}, {tokenizer, tokenizer, true});
      for (const int32_t id : list.targets(std::vector<int32_t>{0, 1, 2, 3, 4}))
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    } catch (const Error&) {
    }
  }
}
void ctranslate2(Bytes bytes) {
  const Ctranslate2File file = Ctranslate2File::open(MemoryFile(bytes).path());
  for (const std::string& name : file.tensors().names())
    if (file.tensors().find(name)->unknown_type.empty()) to_floats(*file.tensors().find(name));
}
void gguf(Bytes bytes) {
  const MemoryFile memory(bytes);
  const GgufFile file = GgufFile::open(memory.path());
  for (const std::string& name : file.tensors().names()) {
    const TensorInfo& tensor = *file.tensors().find(name);
    if (tensor.unknown_type.empty() && tensor.dtype == DType::f32) to_floats(tensor);
  }
  const auto tokens = static_cast<int>(file.texts("tokenizer.ggml.tokens").size());
  const auto tokenizer = read_gguf_tokenizer(file, tokens).tokenizer;
  tokenizer->decode_text(tokenizer->encode_text("The old dog, 21 cats\u00e4"));
}
void torch(Bytes bytes) { look_at(read_torch(MemoryFile(bytes).path())); }
void safetensors_index(Bytes bytes) { look_at(read_sharded_safetensors(MemoryFile(bytes).path())); }
void vocabulary_yaml(Bytes bytes) { read_vocabulary(MemoryFile(bytes).path()); }
void marian_decoder(Bytes bytes) { read_marian_decoder_config(MemoryFile(bytes).path()); }

void shortlist(Bytes bytes) {
  ModelConfig config;
  config.source_vocab = 4, config.target_vocab = 9;
  config.source_tokenizer_hash = config.target_tokenizer_hash = "00ff";
  const Shortlist list = load_shortlist(MemoryFile(bytes).path(), config);
  for (const int32_t id : list.targets(std::vector<int32_t>{0, 1, 2, 3}))
    if (id < 0 || id >= config.target_vocab) std::abort();
}

void model_config(Bytes bytes) { load_config(MemoryFile(bytes).path()); }
void train_config(Bytes bytes) {
  TranslationOptions options;
  read_options(parse_yaml_options(text_of(bytes), "config.yaml"), options);
}
void training_state(Bytes bytes) {
  TrainingState state = parse_training_state(text_of(bytes), "state.json");
  upgrade_translation_options(state.options);
  TranslationOptions options;
  read_options(state.options, options);
}

void sentence_piece(Bytes bytes) {
  const auto tokenizer = load_sentence_piece(text_of(bytes), "fuzz.spm", TextSide::target);
  tokenizer->decode(tokenizer->encode("The old dog, 21 cats\u00e4 >>deu<<"));
  for (const bool by_lines : {true, false})
    tokenizer_json_of_sentence_piece(text_of(bytes), by_lines, "fuzz.spm");
}
void tokenizer_json(Bytes bytes) {
  const nlohmann::json all = parse_json(text_of(bytes), "tokenizer.json");
  if (!all.is_object()) return;
  splits_by_lines(all);
  start_of_post_processor(all, "tokenizer.json");
}
void whitespace(Bytes bytes) {
  const auto tokenizer = load_whitespace(text_of(bytes), "fuzz.vocab");
  tokenizer->decode(tokenizer->encode("The old dog"));
}
/// Whatever is in a vocabulary can be written and read again.
void characters(Bytes bytes) {
  const auto tokenizer = load_characters(text_of(bytes), "fuzz.characters");
  if (tokenizer->line_end() && tokenizer->decode_text(tokenizer->encode_text(text_of(bytes))) != text_of(bytes))
    __builtin_trap();
}
/// What is shown of a text, piece by piece, is the text.
void text_stream(Bytes bytes) {
  static const auto tokenizer = load_bytes(byte_tokenizer_file, "fuzz.bytes");
  static const StopStrings stops({"stop", "\n\n"});
  const std::vector<int32_t> ids = tokenizer->encode_text(text_of(bytes));
  TextStream stream(*tokenizer, stops), whole(*tokenizer, stops);
  std::string shown;
  for (size_t count = 1; count <= ids.size(); ++count) shown += stream.push(std::span(ids).first(count));
  shown += stream.finish(ids);
  if (shown != whole.finish(ids)) __builtin_trap();
}
/// Every text that begins ends once, whatever its unit.
void documents(Bytes bytes) {
  const MemoryFile file(bytes);
  for (const TextUnit unit : {TextUnit::stream, TextUnit::file, TextUnit::paragraph, TextUnit::line}) {
    DocumentReader reader({file.path()}, unit, InvalidUtf8::replace);
    bool open = false;
    std::string line;
    for (DocumentReader::Event event; (event = reader.next(line)) != DocumentReader::Event::end;) {
      if (event == DocumentReader::Event::end_of_document && !open) __builtin_trap();
      if (event == DocumentReader::Event::line && first_invalid_utf8(line)) __builtin_trap();
      open = event == DocumentReader::Event::line;
    }
    if (open) __builtin_trap();
  }
}
void sequence_store(Bytes bytes) { parse_sequence_store_record(text_of(bytes), "texts.json"); }
/// A tokenizer.json of any model type: what it encodes is located and cut alike, and decodes.
void stored_tokenizer(Bytes bytes) {
  const auto tokenizer = load_tokenizer_json(text_of(bytes), "tokenizer.json");
  for (const std::string text : {"ab  c\n'll 12 Zo\xC3\xAB\xE6\x9D\xB1 <s> dog", "\xC3\xA9\xFF"}) {
    const std::vector<int32_t> ids = tokenizer->encode_text(text);
    tokenizer->decode_text(ids);
    tokenizer->decode_text(tokenizer->encode_with_special_tokens(text));
    if (first_invalid_utf8(text)) continue;
    std::vector<int32_t> located;
    for (const LocatedToken& token : tokenizer->locate(text)) {
      if (token.begin > token.end || token.end > text.size()) __builtin_trap();
      located.push_back(token.id);
    }
    if (located != ids || tokenizer->last_cut(text, text.size()) > text.size()) __builtin_trap();
  }
}
/// What is recognized as a template of a format is so again when that format writes it.
void chat_template(Bytes bytes) {
  const auto chat = recognize_chat(text_of(bytes));
  if (!chat) return;
  const auto again = recognize_chat(chat_template_of(*chat->format, chat->system, chat->starts));
  if (!again || again->format != chat->format || again->system != chat->system || again->starts != chat->starts)
    __builtin_trap();
}
/// A conversation as text has its contents where it says so.
void conversation(Bytes bytes) {
  const std::vector<ChatMessage> messages = conversation_of(text_of(bytes));
  for (const ChatMessage& message : messages)
    if (first_invalid_utf8(message.content)) return;
  for (const ChatFormat& format : chat_formats()) {
    const ChatText chat = chat_text(format, "be kind", messages);
    size_t end = 0;
    for (const TextRange& content : chat.contents) {
      if (content.begin < end || content.end < content.begin || content.end > chat.text.size())
        __builtin_trap();
      end = content.end;
    }
  }
}
void text_templates(Bytes bytes) {
  const nlohmann::json all = parse_json(text_of(bytes), "tokenizer.json");
  if (all.is_object()) read_text_templates(all, "tokenizer.json");
}
void vocabulary_txt(Bytes bytes) {
  load_tokenizer_json(bert_tokenizer_json(text_of(bytes), {}, "vocab.txt"), "vocab.txt");
}
void byte_level_files(Bytes bytes) {
  const std::string text = text_of(bytes);
  const size_t end = std::min(text.find('\0'), text.size());
  byte_level_tokenizer_json(text.substr(0, end), std::string_view(text).substr(end), true, "vocab.json");
}
void classification_config(Bytes bytes) {
  classification_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
void image(Bytes bytes) { decode_image(text_of(bytes), "image"); }
void idx(Bytes bytes) {
  const MemoryFile file(bytes);
  IdxFile items(file.path());
  std::vector<uint8_t> values;
  for (int i = 0; i < 100 && items.next(values); ++i) {
  }
}
void image_classification_config(Bytes bytes) {
  image_classification_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
void image_captioning_config(Bytes bytes) {
  image_captioning_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
void question_answering_config(Bytes bytes) {
  question_answering_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
/// Every answer is where its text says.
void expect_answers_in_text(const Passage& one) {
  for (const PassageQuestion& question : one.questions)
    for (const RightAnswer& answer : question.answers)
      if (answer.text.empty() || one.text.compare(answer.begin, answer.text.size(), answer.text) != 0)
        __builtin_trap();
}
void squad(Bytes bytes) {
  for (const RightAnswers answers : {RightAnswers::optional, RightAnswers::required})
    for (const Passage& one : parse_squad(text_of(bytes), "squad.json", answers)) expect_answers_in_text(one);
}
void question_lines(Bytes bytes) {
  const MemoryFile file(bytes);
  QuestionReader reader({file.path()}, InvalidUtf8::replace);
  for (Passage one; reader.next(one);) expect_answers_in_text(one);
}
void masked_language_model_config(Bytes bytes) {
  masked_language_model_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
void language_model_config(Bytes bytes) {
  language_model_options_of(parse_yaml_options(text_of(bytes), "config.yaml"), "config.yaml");
}
/// A translator that changes nothing changes no byte of a document.
void html(Bytes bytes) {
  const std::string document = text_of(bytes);
  if (translate_html(document, identity()) != document) __builtin_trap();
  translate_html(document, reversed());
}
void xml(Bytes bytes) {
  const std::string document = text_of(bytes);
  for (const bool outline : {true, false}) {
    const XmlOptions options{.outline_detection = outline, .splitting_tags = {"p"}, .ignore_tags = {"x"}};
    if (translate_xml(document, identity(), options) != document) __builtin_trap();
    translate_xml(document, reversed(), options);
  }
}

size_t arrows_in(const std::string& srt) {
  size_t count = 0;
  for (size_t at = srt.find("-->"); at != srt.npos; at = srt.find("-->", at + 1)) ++count;
  return count;
}
/// Translations add no times, and what was translated can be read again.
void srt(Bytes bytes) {
  const std::string document = text_of(bytes);
  if (translate_srt(document, identity()) != document) __builtin_trap();
  const std::string translated = translate_srt(document, reversed());
  if (arrows_in(translated) != arrows_in(document)) __builtin_trap();
  if (translate_srt(translated, identity()) != translated) __builtin_trap();
}
/// Translations add no lines with an arrow, and what was translated can be read again.
void vtt(Bytes bytes) {
  const std::string document = text_of(bytes);
  if (translate_webvtt(document, identity()) != document) __builtin_trap();
  const std::string translated = translate_webvtt(document, reversed());
  if (arrows_in(translated) != arrows_in(document)) __builtin_trap();
  if (translate_webvtt(translated, identity()) != translated) __builtin_trap();
}
/// What was translated is XLIFF again, and needs no translation any more.
void xliff(Bytes bytes) {
  const std::string document = text_of(bytes);
  read_xliff({translate_xliff(document, reversed()), "translated.xlf"});
  const std::string translated = translate_xliff(document, identity());
  if (translate_xliff(translated, reversed()) != translated) __builtin_trap();
}
/// A translation has the blocks of its document.
void markdown(Bytes bytes) {
  const std::string document = text_of(bytes);
  if (translate_markdown(document, identity()) != document) __builtin_trap();
  const std::string translated = translate_markdown(document, reversed());
  if (read_markdown(translated).blocks != read_markdown(document).blocks) __builtin_trap();
}
/// What is read and written again stays the same.
void word_links(Bytes bytes) {
  const GoldLinks links = parse_word_links(text_of(bytes), "links");
  if (parse_word_links(to_pharaoh(links.sure), "links").sure != links.sure) __builtin_trap();
}

void n_best(Bytes bytes) {
  const NBestLine line = parse_n_best_line(text_of(bytes), "list:1");
  const std::string written = to_text(line);
  if (to_text(parse_n_best_line(written, "list:1")) != written) __builtin_trap();
}

void tmx(Bytes bytes) {
  const MemoryFile file(bytes);
  TmxReader reader(file.path(), "en", "de");
  for (std::string source, target; reader.next(source, target);)
    if (fault_of_text(source) || fault_of_text(target) || source.find('\n') != source.npos) __builtin_trap();
}
/// Messages stay as they are, but for translations that were missing.
void po(Bytes bytes) {
  const std::string document = text_of(bytes);
  const std::vector<PoMessage> before = read_po({document, "fuzz.po"});
  const std::string translated = translate_po(document, reversed());
  const std::vector<PoMessage> after = read_po({translated, "translated.po"});
  if (before.size() != after.size()) __builtin_trap();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].context != after[i].context || before[i].id.text != after[i].id.text ||
        before[i].plural != after[i].plural || before[i].translations.size() != after[i].translations.size())
      __builtin_trap();
    if (!before[i].is_header() && !before[i].is_translated()) continue;
    for (size_t j = 0; j < before[i].translations.size(); ++j)
      if (before[i].translations[j].text != after[i].translations[j].text) __builtin_trap();
  }
}
void glossary(Bytes bytes) {
  const std::string text = text_of(bytes);
  const Glossary glossary = Glossary::from_tsv(text, "fuzz.tsv");
  if (Glossary::from_tsv(glossary.to_tsv(), "").entries() != glossary.entries()) __builtin_trap();
  for (const GlossaryEntry& entry : glossary.entries())
    if (glossary.targets_in(entry.source) != std::vector<std::string>{entry.target}) __builtin_trap();
  glossary.targets_in(text);
}

void utf8(Bytes bytes) {
  const std::string text = text_of(bytes);
  const std::string valid = replace_invalid_utf8(text);
  if (first_invalid_utf8(valid)) __builtin_trap();
}
void lines(Bytes bytes) {
  const MemoryFile file(bytes);
  LineReader reader(file.path());
  std::string line;
  size_t total = 0;
  while (total < (1 << 24) && reader.next(line)) total += line.size();
}

void parallel_text(Bytes bytes) {
  const MemoryFile file(bytes);
  PairReader reader({{.tsv = file.path()}}, InvalidUtf8::replace);
  for (std::string source, target; reader.next(source, target);)
    if (first_invalid_utf8(source) || first_invalid_utf8(target)) __builtin_trap();
}
void training_log(Bytes bytes) {
  const MemoryFile log(bytes);
  read_training_log(log.path());
  write_events(log.path(), [](std::string_view record) {
    if (!take_record(record) || !record.empty()) __builtin_trap();
  });
}
void event_file(Bytes bytes) { writer_of_events(text_of(bytes)); }
void corpus_report(Bytes bytes) { parse_corpus_report(text_of(bytes), "report.json"); }
void sentences(Bytes bytes) {
  static const SentenceSplitter splitter("en");
  const std::string text = replace_invalid_utf8(text_of(bytes));
  const SplitParagraph split = splitter.split(text);
  std::string together = split.spaces[0];
  for (size_t i = 0; i < split.sentences.size(); ++i) together += split.sentences[i] + split.spaces[i + 1];
  if (together != text) __builtin_trap();
}
void kept_text(Bytes bytes) { parse_stored_parallel_text(text_of(bytes), "validation-text.json"); }
void token_store(Bytes bytes) {
  const MemoryFile ids(bytes.first(bytes.size() / 2)), offsets(bytes.subspan(bytes.size() / 2));
  const IdSequences sequences = IdSequences::map(ids.path(), offsets.path());
  int64_t sum = 0;
  for (int64_t i = 0; i < sequences.size(); ++i)
    for (const int32_t id : sequences[i]) sum += id;
  static volatile int64_t seen;
  seen = seen + sum;  // so that every id is read
}

constexpr std::array targets{FuzzTarget{"safetensors", safetensors},
                             FuzzTarget{"safetensors_index", safetensors_index},
                             FuzzTarget{"npz", npz},
                             FuzzTarget{"torch", torch},
                             FuzzTarget{"marian_bin", marian_bin},
                             FuzzTarget{"gguf", gguf},
                             FuzzTarget{"ctranslate2", ctranslate2},
                             FuzzTarget{"marian_shortlist", marian_shortlist},
                             FuzzTarget{"vocabulary_yaml", vocabulary_yaml},
                             FuzzTarget{"marian_decoder", marian_decoder},
                             FuzzTarget{"shortlist", shortlist},
                             FuzzTarget{"model_config", model_config},
                             FuzzTarget{"train_config", train_config},
                             FuzzTarget{"training_state", training_state},
                             FuzzTarget{"sentence_piece", sentence_piece},
                             FuzzTarget{"whitespace", whitespace},
                             FuzzTarget{"characters", characters},
                             FuzzTarget{"text_stream", text_stream},
                             FuzzTarget{"documents", documents},
                             FuzzTarget{"sequence_store", sequence_store},
                             FuzzTarget{"byte_pairs", stored_tokenizer},
                             FuzzTarget{"unigram", stored_tokenizer},
                             FuzzTarget{"word_pieces", stored_tokenizer},
                             FuzzTarget{"chat_template", chat_template},
                             FuzzTarget{"conversation", conversation},
                             FuzzTarget{"text_templates", text_templates},
                             FuzzTarget{"vocabulary_txt", vocabulary_txt},
                             FuzzTarget{"byte_level_files", byte_level_files},
                             FuzzTarget{"classification_config", classification_config},
                             FuzzTarget{"image", image},
                             FuzzTarget{"idx", idx},
                             FuzzTarget{"image_classification_config", image_classification_config},
                             FuzzTarget{"image_captioning_config", image_captioning_config},
                             FuzzTarget{"question_answering_config", question_answering_config},
                             FuzzTarget{"squad", squad},
                             FuzzTarget{"question_lines", question_lines},
                             FuzzTarget{"masked_language_model_config", masked_language_model_config},
                             FuzzTarget{"language_model_config", language_model_config},
                             FuzzTarget{"utf8", utf8},
                             FuzzTarget{"html", html},
                             FuzzTarget{"xml", xml},
                             FuzzTarget{"srt", srt},
                             FuzzTarget{"vtt", vtt},
                             FuzzTarget{"xliff", xliff},
                             FuzzTarget{"markdown", markdown},
                             FuzzTarget{"tmx", tmx},
                             FuzzTarget{"n_best", n_best},
                             FuzzTarget{"word_links", word_links},
                             FuzzTarget{"po", po},
                             FuzzTarget{"glossary", glossary},
                             FuzzTarget{"lines", lines},
                             FuzzTarget{"parallel_text", parallel_text},
                             FuzzTarget{"training_log", training_log},
                             FuzzTarget{"event_file", event_file},
                             FuzzTarget{"corpus_report", corpus_report},
                             FuzzTarget{"sentences", sentences},
                             FuzzTarget{"kept_text", kept_text},
                             FuzzTarget{"tokenizer_json", tokenizer_json},
                             FuzzTarget{"token_store", token_store},
                             FuzzTarget{"http_requests", http_requests},
                             FuzzTarget{"http_bytes", http_bytes}};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return targets; }

void run_target(const FuzzTarget& target, std::span<const uint8_t> bytes) {
  try {
    target.run(bytes);
  } catch (const Error&) {
  }
}

}  // namespace sixfold
