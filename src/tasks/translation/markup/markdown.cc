#include <algorithm>

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

/// Whether a translated text has the same markup. Emphases without words may be missing.
bool keeps_marks(const MarkdownLeaf& before, const MarkdownLeaf& after) {
  return before.spans == after.spans && after.stray <= before.stray &&
         std::ranges::includes(before.emphases, after.emphases);
}

/// Finds texts whose translation changed the markup of the document, and sets `kept` for them. If the blocks
/// differ, this is the text at the first block that differs, or the last text before it that is not kept yet;
/// otherwise these are the texts that lost markup. Returns whether there are any. `rest`: set `kept` for all
/// texts from that block on.
bool keep_broken_texts(const MarkdownDocument& before, const MarkdownDocument& after, bool rest,
                       std::vector<bool>& kept) {
  const auto [block, other] = std::ranges::mismatch(before.blocks, after.blocks);
  if (block != before.blocks.end() || other != after.blocks.end()) {
    const auto first_changed = block - before.blocks.begin();
    auto leaf = std::min<std::ptrdiff_t>(first_changed, std::ssize(kept) - 1);
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

/// Throws an input error if too many lines follow each other without an empty line: md4c takes time quadratic
/// in the number of lines of a paragraph.
void require_empty_lines(const MarkupSource& source) {
  constexpr int max_lines = 5000;
  int lines = 0;
  for (const DocumentLine& line : lines_of(source.bytes)) {
    lines = trim_spaces(source.bytes.substr(line.begin, line.end - line.begin)).empty() ? 0 : lines + 1;
    if (lines > max_lines)
      throw_markup_error(source, line.begin,
                         "more than {} lines follow each other without an empty line; add empty lines",
                         max_lines);
  }
}

}  // namespace

std::string translate_markdown(std::string_view markdown, const TextTranslator& translate,
                               const std::string& name) {
  const MarkupSource source{markdown, name};
  require_text(source);
  require_empty_lines(source);
  const MarkdownDocument document = read_markdown(markdown);
  const TextTranslator translate_once =
      translator_of_once(translate, name, [](const std::string& text, TranslatedText& result) {
        result.text = with_single_spaces(replace_nul(std::move(result.text)));
        if (!has_visible_character(result.text)) result = {text};  // an empty text would change the blocks
      });
  // The translated document is parsed again. Texts whose markup has changed keep their original bytes.
  std::vector<bool> kept(document.leaves.size());
  constexpr int max_rounds = 32;  // one round suffices if no translated text is parsed as markup
  for (int round = 0; std::ranges::find(kept, false) != kept.end(); ++round) {
    std::string output = translate_pieces(source, markdown_pieces(source, document, kept),
                                          MarkupLanguage::markdown, translate_once);
    if (!keep_broken_texts(document, read_markdown(output), round >= max_rounds, kept)) return output;
  }
  return std::string(markdown);
}

}  // namespace sixfold
