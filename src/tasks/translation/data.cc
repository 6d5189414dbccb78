#include "tasks/translation/data.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/plural.h"
#include "data/stored_parallel_text.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "model_folder/require_model_folder.h"
#include "tasks/kit/task_config.h"
#include "tasks/translation/settings.h"
#include "text/subword_sampler.h"

namespace sixfold {
namespace {

/// The part of the store's settings that depends on languages: those that select pairs in TMX files, and the
/// target language tokens. Empty if there are neither.
std::string language_settings(const std::vector<CorpusFiles>& files) {
  std::string words, known;
  for (const CorpusFiles& text : files) {
    if (is_tmx(text.tsv)) {
      std::string these = fmt::format(", from {} into {}", text.source_language, text.target_language);
      if (these != known) words += known = std::move(these);
    }
    if (!text.first_word.empty()) words += " " + text.first_word;
  }
  return words;
}

/// The target language tokens with which sources begin, each once.
std::vector<std::string> target_tokens(const std::vector<std::string>& languages) {
  std::vector<std::string> words;
  for (const std::string& pair : languages)
    if (const std::string word = target_token(language_pair(pair)->target);
        std::ranges::count(words, word) == 0)
      words.push_back(word);
  return words;
}

/// Throws an input error unless the tokenizer has these tokens.
void require_tokens(const Tokenizer& tokenizer, const std::vector<std::string>& words) {
  const std::vector<std::string> known = tokenizer.language_tokens();
  for (const std::string& word : words)
    require(std::ranges::count(known, word) > 0,
            "data.languages: the tokenizer has no token {}{}; let the run make its own tokenizer, or add the "
            "token to tokenizer.user_defined_symbols of the run that makes it",
            word, known.empty() ? "" : ", only " + join(known));
}

PairAugmentation pair_augmentation(const TranslationOptions& options) {
  return {options.data.capitals, options.data.noise, options.train.seed};
}

/// Returns a reader of one side of the training text, to train a tokenizer on.
TextReader side_of(const std::vector<CorpusFiles>& files, const TranslationOptions& options,
                   const TaskStart& start, bool source_side) {
  return [=, invalid = options.data.invalid_utf8, augmentation = pair_augmentation(options),
          stop = start.stop](const auto& use) {
    PairReader reader(files, invalid, augmentation);
    for (std::string source, target; reader.next(source, target);) {
      throw_if_stopped(stop);
      use(source_side ? source : target);
    }
    const CorpusReport& report = reader.report();
    require(report.zero_weight == 0 || report.kept() > 0, "data.pair_weights: no pair is left ({})",
            report.describe());
  };
}

Tokenizers tokenizers_of(const TranslationOptions& options, const TaskStart& start,
                         const std::vector<CorpusFiles>& files) {
  const std::string& folder = start.model.empty() ? options.tokenizers_from() : start.model;
  const std::vector<std::string> words = target_tokens(options.data.languages);
  if (!folder.empty()) {
    Tokenizers tokenizers = load_text_tokenizers(folder);
    require_tokens(*tokenizers.source, words);
    return tokenizers;
  }
  TokenizerOptions tokenizer_options = options.tokenizer;
  if (tokenizer_options.source.empty())
    for (const std::string& word : words)
      if (std::ranges::count(tokenizer_options.user_defined_symbols, word) == 0)
        tokenizer_options.user_defined_symbols.push_back(word);
  Tokenizers tokenizers = make_tokenizers(tokenizer_options, side_of(files, options, start, true),
                                          side_of(files, options, start, false));
  require_tokens(*tokenizers.source, words);
  return tokenizers;
}

std::optional<Tokenizers> given_tokenizers(const TranslationOptions& options, const TaskStart& start) {
  const TokenizerOptions& tokenizer = options.tokenizer;
  if (options.tokenizers_from().empty() && tokenizer.source.empty() && tokenizer.target.empty())
    return std::nullopt;
  return tokenizers_of(options, start, {});
}

/// Describes everything that determines the contents of the store besides the text itself: the settings, and
/// the hashes of given tokenizers.
std::string store_settings(const TranslationOptions& options, const TaskStart& start,
                           const PairLayout& layout) {
  const ParallelDataOptions& data = options.data;
  std::string given;
  TokenizerOptions trained = options.tokenizer;
  if (const auto tokenizers = given_tokenizers(options, start)) {
    given = tokenizers->source->hash() + " " + tokenizers->target->hash();
    trained = {};
  }
  const std::string layout_text = layout == PairLayout()
                                      ? ""
                                      : fmt::format(", around texts [{}] [{}] [{}]", join(layout.source_start),
                                                    join(layout.source_end), join(layout.target_start));
  const PairAugmentation augmentation = pair_augmentation(options);
  const std::string copies = augmentation.any()
                                 ? fmt::format(", copies in capitals {}, with typing errors {}, seed {}",
                                               augmentation.capitals, augmentation.noise, augmentation.seed)
                                 : "";
  return fmt::format(
      "invalid_utf8 {}, max_length {}, max_ratio {}, repeats {}, white space folded, tokenizers {} {}{}{}",
      name_of_enum(data.invalid_utf8), data.max_length, data.max_ratio, name_of_enum(data.repeats), given,
      nlohmann::json::parse(to_json(write_options(trained))).dump(), layout_text, copies);
}

/// The tokens around texts, according to the model that training starts from. Without such a model there is
/// only the `forced_first_token` of the generation settings.
PairLayout given_layout(const TranslationOptions& options, const TaskStart& start) {
  const int first = options.generation.forced_first_token;
  if (start.model.empty()) return first < 0 ? PairLayout() : PairLayout{.target_start = {first}};
  const ModelConfig config = load_model_config(start.model);
  return layout_of(settings_for(config, options.data), config.generation,
                   *load_text_tokenizers(start.model).source);
}

std::optional<TokenStoreRecord> stored_text(const std::string& store) {
  if (!std::filesystem::exists(store + "/corpus.json")) return std::nullopt;
  return read_token_store_record(store);
}

void warn_of_changes(const std::vector<CorpusFiles>& files, const std::vector<FileStamp>& recorded) {
  for (const std::string& change : changed_files(files, recorded))
    log_warning("{}; the run goes on with the stored text", change);
}

/// Whether the store already holds the text of this run. A new run reuses a store with the same text and
/// settings, such as that of a run that was stopped before its first checkpoint.
bool is_stored(const std::optional<TokenStoreRecord>& record, const TaskStart& start,
               const std::vector<CorpusFiles>& files, const std::string& settings) {
  if (!record) return false;
  if (!start.resumed) return record->settings == settings && same_contents(record->files, stamps_of(files));
  require(
      record->hash == start.resumed->training,
      "{}: is not the text that the run was trained on (its hash is {}, the run's is {}). Restore the text in "
      "data.train and remove the folder; it is then created again",
      encoded_data_of(start), record->hash, start.resumed->training);
  warn_of_changes(files, record->files);
  return true;
}

/// Throws unless the tokenizers in `store` are those of the checkpoint.
void check_tokenizers(const Tokenizers& tokenizers, const std::string& checkpoint, const std::string& store) {
  const ModelConfig config = load_model_config(checkpoint);
  require(tokenizers.source->hash() == config.source_tokenizer_hash &&
              tokenizers.target->hash() == config.target_tokenizer_hash,
          "{}: its tokenizer is not that of the run; copy the tokenizer of {} into it", store, checkpoint);
}

/// Throws an input error if too many tokens are not in the vocabularies. The model would learn to write the
/// unknown token.
void require_known(const CorpusReport& report) {
  for (const auto& [side, share] :
       {std::pair("source", report.source_unknown_share()), std::pair("target", report.target_unknown_share())})
    require(share <= max_unknown_share,
            "data.train: {:.3g}% of the {} tokens are not in the vocabulary; use a tokenizer that was made for "
            "this "
            "text, or set data.allow_unknown",
            100 * share, side);
}

/// Throws an input error that names a pair of languages for which no sentence pair is left.
void require_all_directions(const std::vector<std::string>& languages, const std::vector<int64_t>& pairs) {
  std::map<std::string, int64_t> kept;
  for (size_t i = 0; i < languages.size(); ++i) kept[languages[i]] += pairs.at(i);
  for (const auto& [direction, count] : kept)
    require(count > 0, "data.languages: no pair of {} is left in data.train", direction);
}

/// Temperature sampling (Arivazhagan et al. 2019): how often an epoch uses each text. The share of
/// a text is proportional to its size to the power 1 / temperature. The largest text is used once.
std::vector<double> weights_at(double temperature, const std::vector<int64_t>& pairs) {
  const auto largest = static_cast<double>(std::ranges::max(pairs));
  std::vector<double> weights;
  for (const int64_t size : pairs)
    weights.push_back(size == 0 ? 1 : std::pow(largest / static_cast<double>(size), 1 - 1 / temperature));
  return weights;
}

void read_training_text(TranslationData& result, const TranslationOptions& options, const TaskStart& start) {
  const auto files = training_files(options.data);
  const ParallelDataOptions& data = options.data;
  if (data.subword_sampling > 0)
    if (const auto given = given_tokenizers(options, start))
      for (const auto& tokenizer : {given->source, given->target})
        SubwordSampler::require_kind(tokenizer->kind());
  const std::string store = encoded_data_of(start);
  const auto record = stored_text(store);
  result.layout = given_layout(options, start);
  const std::string settings = store_settings(options, start, result.layout) + language_settings(files) +
                               (data.pair_weights.empty() ? "" : ", weights of pairs") +
                               (data.alignments.empty() ? "" : ", alignments");
  if (is_stored(record, start, files, settings)) {
    verify_token_store(store, *record);
    result.record = *record;
    result.tokenizers = load_stored_tokenizers(store, *record);
    if (start.resumed && !start.model.empty()) check_tokenizers(result.tokenizers, start.model, store);
  } else {
    require_regular_files(files);
    result.tokenizers = tokenizers_of(options, start, files);
    TokenStoreOptions store_options{
        .encode = {data.max_length, data.max_ratio, start.threads, result.layout, !data.languages.empty()},
        .invalid = data.invalid_utf8,
        .drop_repeats = data.repeats == Repeats::drop,
        .augmentation = pair_augmentation(options),
        .settings = settings,
        .stop = start.stop};
    if (start.resumed) store_options.expected_hash = start.resumed->training;
    result.record = write_token_store(store, files, result.tokenizers, store_options);
  }
  if (!data.allow_unknown && !start.resumed) require_known(result.record.report);
  require_all_directions(data.languages, result.record.pairs);
  trim_memory();
  result.train = map_token_store(
      store, data.temperature == 1 ? data.weights : weights_at(data.temperature, result.record.pairs));
  for (size_t i = 0; i < data.weights.size(); ++i) {
    const int64_t pairs = result.record.pairs[i];
    if (data.weights[i] > 0 && pairs > 0 && std::llround(data.weights[i] * static_cast<double>(pairs)) == 0)
      log_warning("data.weights: an epoch has no pair of text {}, since {} times its {} is less than a half",
                  i + 1, data.weights[i], counted(pairs, "pair"));
  }
  if (!data.alignments.empty() && result.train.links.total_length() == 0)
    log_warning("data.alignments: no pair has links, so that nothing guides the attention");
  result.train.target_eos = result.tokenizers.target->eos();
  log_info("training text: {}; {} source and {} target tokens", result.record.report.describe(),
           result.train.source_tokens(), result.train.target_tokens());
}

StoredParallelText validation_text(const TranslationOptions& options, const TaskStart& start) {
  const auto files = files_of(options.data, options.data.valid, "data.valid");
  const std::string path = start.run + "/validation-text.json";
  if (start.resumed && std::filesystem::exists(path)) {
    StoredParallelText kept = parse_stored_parallel_text(read_regular_file(path), path);
    require(kept.hash() == start.resumed->validation,
            "{}: is not the validation text of this run; remove it, and data.valid is read again", path);
    warn_of_changes(files, kept.files);
    return kept;
  }
  StoredParallelText text{stamps_of(files), read_corpus(files, options.data.invalid_utf8)};
  require(!start.resumed || text.hash() == start.resumed->validation,
          "data.valid is not the text that the run was validated on, and {} is missing; restore the text, or "
          "start a new run",
          path);
  write_file_atomically(path, to_json_text(text));
  return text;
}

}  // namespace

TranslationSettings settings_for(const ModelConfig& config, const ParallelDataOptions& data) {
  auto settings = settings_of<TranslationSettings>(config);
  if (!data.source_language.empty()) settings.source_language = data.source_language;
  if (!data.target_language.empty()) settings.target_language = data.target_language;
  if (!data.languages.empty()) {
    settings.source_language = settings.target_language = "";
    const std::set<std::string> pairs(data.languages.begin(), data.languages.end());
    settings.directions.assign(pairs.begin(), pairs.end());
  }
  return settings;
}

std::vector<CorpusFiles> files_of(const ParallelDataOptions& data, const std::vector<std::string>& names,
                                  const std::string& key) {
  if (data.languages.empty()) return corpus_files(names, key, data.source_language, data.target_language);
  const LanguagePair first = *language_pair(data.languages.front());
  std::vector<CorpusFiles> files = corpus_files(names, key, first.source, first.target);
  require(names.empty() || files.size() == data.languages.size(),
          "data.languages has {}, but {} {}; give the languages of each text",
          counted(data.languages.size(), "pair"), key, counted(files.size(), "text"));
  for (size_t i = 0; i < files.size(); ++i) {
    const LanguagePair pair = *language_pair(data.languages[i]);
    if (is_tmx(files[i].tsv)) files[i].source_language = pair.source, files[i].target_language = pair.target;
    files[i].first_word = target_token(pair.target);
  }
  return files;
}

std::vector<CorpusFiles> training_files(const ParallelDataOptions& data) {
  auto files = files_of(data, data.train, "data.train");
  const auto add_files = [&](const char* key, const char* what, const std::vector<std::string>& names,
                             std::string CorpusFiles::*file) {
    require(names.empty() || names.size() == files.size(),
            "{} has {}, but data.train {}; give one file of {} for each text", key,
            counted(names.size(), "file"), counted(files.size(), "text"), what);
    for (size_t i = 0; i < names.size(); ++i) {
      require(
          !is_tmx(files[i].tsv),
          "{}: {} is a translation memory, whose pairs can't have {}; 'sixfold corpus --clean' makes a .tsv "
          "file of it",
          key, files[i].tsv, what);
      files[i].*file = names[i];
    }
  };
  add_files("data.pair_weights", "weights", data.pair_weights, &CorpusFiles::weights);
  add_files("data.alignments", "alignments", data.alignments, &CorpusFiles::alignments);
  require(data.weights.empty() || data.weights.size() == files.size(),
          "data.weights has {}, but data.train {}; give one weight for each text",
          counted(data.weights.size(), "weight"), counted(files.size(), "text"));
  return files;
}

std::optional<Tokenizers> given_tokenizers(const TranslationOptions& options) {
  return given_tokenizers(options, {.model = options.start.model});
}

TranslationData read_translation_data(const TranslationOptions& options, const TaskStart& start) {
  TranslationData result;
  if (!start.model.empty()) {
    require_model_folder(start.model);
    const ModelConfig config = load_model_config(start.model);
    require_task(config, TranslationSettings::network, start.model);
    const auto settings = settings_of<TranslationSettings>(config);
    require(settings.language_token.empty() || options.data.languages.empty(),
            "data.languages: {} chooses its languages by other tokens; give data.source_language and "
            "data.target_language",
            start.model);
    require(settings.directions.empty() || !options.data.languages.empty(),
            "data.languages: {} translates {}; say which languages each text of data.train has", start.model,
            join(settings.directions));
  }
  std::optional<StoredParallelText> valid;
  if (!options.data.valid.empty()) valid = validation_text(options, start);
  read_training_text(result, options, start);
  if (valid) {
    Corpus& corpus = valid->corpus;
    result.valid_hash = valid->hash();
    result.valid = encode_corpus(corpus.text, result.tokenizers,
                                 {options.data.max_length, options.data.max_ratio, start.threads, result.layout,
                                  !options.data.languages.empty()},
                                 corpus.report);
    log_info("validation text: {}", corpus.report.describe());
    result.valid_text = std::move(corpus.text);
  }
  const Tokenizers& t = result.tokenizers;
  log_info("vocabulary: {}", t.joint ? fmt::format("{} joint tokens", t.source->vocab_size())
                                     : fmt::format("{} source and {} target tokens", t.source->vocab_size(),
                                                   t.target->vocab_size()));
  return result;
}

}  // namespace sixfold
