#include <algorithm>
#include <map>

#include "tasks/translation/markup/markdown_leaves.h"
#include "tasks/translation/markup/subtitle_lines.h"
#include "tasks/translation/markup/translate_pieces.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

Pieces markdown_pieces(const MarkupSource& source, const MarkdownDocument& document,
                       const std::vector<bool>& kept) {
  PieceList pieces(source, MarkupLanguage::markdown);
  for (size_t leaf = 0; leaf < document.leaves.size(); ++leaf)
    if (!kept[leaf]) pieces.add(document.leaves[leaf].parts);
  return pieces.take();
}

/// Whether a text has kept its marks: all but emphases that have no words.
bool keeps_marks(const MarkdownLeaf& before, const MarkdownLeaf& after) {
  return before.spans == after.spans && after.stray <= before.stray &&
         std::ranges::includes(before.emphases, after.emphases);
}

/// Marks the texts that a translation broke: those that lost a mark, or the one of the first block that is
/// another; if that was marked before, the one in front of it. Returns whether there are any. `rest`: marks all
/// texts from that block on.
bool keep_what_broke(const MarkdownDocument& before, const MarkdownDocument& after, bool rest,
                     std::vector<bool>& kept) {
  const auto [block, other] = std::ranges::mismatch(before.blocks, after.blocks);
  if (block != before.blocks.end() || other != after.blocks.end()) {
    const auto place = block - before.blocks.begin();
    auto leaf = std::min<std::ptrdiff_t>(place, std::ssize(kept) - 1);
    while (leaf > 0 && kept[static_cast<size_t>(leaf)]) --leaf;
    if (leaf < 0 || kept[static_cast<size_t>(leaf)] || rest)
      std::fill(kept.begin() + std::max<std::ptrdiff_t>(rest ? leaf : 0, 0), kept.end(), true);
    else
      kept[static_cast<size_t>(leaf)] = true;
    return true;
  }
  bool any = false;
  for (size_t i = 0; i < kept.size(); ++i)
    if (!keeps_marks(before.leaves[i], after.leaves[i])) kept[i] = any = true;
  return any;
}

/// Throws an input error if very many lines follow each other without an empty one: md4c takes quadratic time
/// for the lines of a paragraph.
void require_empty_lines(const MarkupSource& source) {
  constexpr int most_lines = 5000;
  int lines = 0;
  for (const DocumentLine& line : lines_of(source.bytes)) {
    lines = trim_spaces(source.bytes.substr(line.begin, line.end - line.begin)).empty() ? 0 : lines + 1;
    if (lines > most_lines)
      throw_markup_error(source, line.begin,
                         "more than {} lines follow each other without an empty line; add empty lines",
                         most_lines);
  }
}

}  // namespace

std::string translate_markdown(std::string_view markdown, const TextTranslator& translate,
                               const std::string& name) {
  const MarkupSource source{markdown, name};
  require_text(source);
  require_empty_lines(source);
  const MarkdownDocument document = read_markdown(markdown);
  std::map<std::string, TranslatedText> known;
  TextTranslator once = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> missing;
    for (const std::string& text : texts)
      if (known.emplace(text, TranslatedText()).second) missing.push_back(text);
    if (!missing.empty()) {
      const std::vector<TranslatedText> translations = translate(missing);
      require(translations.size() == missing.size(),
              "{}: {} texts were to be translated, but there are {} translations", name, missing.size(),
              translations.size());
      for (size_t i = 0; i < missing.size(); ++i) {
        TranslatedText& result = known[missing[i]] = translations[i];
        result.text = with_single_spaces(replace_nul(std::move(result.text)));
        if (!has_visible_character(result.text)) result = {missing[i]};  // an empty block would be another one
      }
    }
    std::vector<TranslatedText> all;
    for (const std::string& text : texts) all.push_back(known[text]);
    return all;
  };
  once.placeholder = translate.placeholder;
  // What a translation has become is read again. A text that has lost a mark keeps its bytes.
  std::vector<bool> kept(document.leaves.size());
  constexpr int most_rounds = 32;  // one is enough where no translation is mistaken for a mark
  for (int round = 0; std::ranges::find(kept, false) != kept.end(); ++round) {
    std::string output =
        translate_pieces(source, markdown_pieces(source, document, kept), MarkupLanguage::markdown, once);
    if (!keep_what_broke(document, read_markdown(output), round >= most_rounds, kept)) return output;
  }
  return std::string(markdown);
}

}  // namespace sixfold
