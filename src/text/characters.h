#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// Makes a tokenizer whose tokens are single characters (Unicode code points), line feeds too. `characters` are
/// all of them in the order of their ids, one after the other in UTF-8; the first has the id 3, after `<unk>`,
/// `<s>` and `</s>`. `origin` names them in errors. Throws an input error if they are not valid UTF-8, or one
/// occurs twice.
std::shared_ptr<const Tokenizer> load_characters(std::string_view characters, const std::string& origin);

/// Collects the characters of all texts for `load_characters`, in the order of their code points: at most
/// `vocab_size` tokens in all (0: no limit), the most frequent ones, none that occurs less than `minimum_count`
/// times. Line feeds are always among them. Throws an input error if there is no text.
std::string collect_characters(const TokenizerOptions& options, const std::vector<TextReader>& texts);

/// The contents of the file of a tokenizer of bytes. All such files are equal.
inline constexpr std::string_view byte_tokenizer_file = "bytes\n";

/// Makes a tokenizer whose tokens are the 256 bytes, with the ids 3 to 258 after `<unk>`, `<s>` and `</s>`. Any
/// text can be encoded. `file` must be `byte_tokenizer_file`.
std::shared_ptr<const Tokenizer> load_bytes(std::string_view file, const std::string& origin);

}  // namespace sixfold
