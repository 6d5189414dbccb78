#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

namespace sixfold::sample {

/// A sentence, and forty other ways of writing it in one line of text. To a reader they look alike, or nearly
/// so.
inline const std::string one_way = "Zoë finds five horses.";

inline std::vector<std::string> forty_ways() {
  std::vector<std::string> ways;
  for (const char* space : {"\t",     "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002",       "\u2003",
                            "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009",       "\u200A",
                            "\u202F", "\u205F", "\u3000", "  ",     " \t ",   "\u00A0 \u00A0"})
    ways.push_back(fmt::format("Zoë{0}finds{0}five{0}horses.", space));
  for (const char* end : {" ", "  ", "\t", "\u00A0", "\u3000", "\r"}) ways.push_back(one_way + end);
  for (const char* begin : {" ", "\t", "\u00A0", "\u3000", "\uFEFF"}) ways.push_back(begin + one_way);
  for (const char* other :
       {"Zo\u0065\u0308 finds five horses.", "Zoë fi\u00ADnds five hor\u00ADses.",
        "Zoë finds\uFEFF five horses.", "Zoë\u2060 finds five horses\u2060.", "\uFF3Aoë finds five horses.",
        "Zoë finds five horses\uFF0E", "Zoë \uFB01nds five horses.", "Zoë finds\u200Bfive horses.",
        "\uFEFFZoe\u0308\u00A0\uFB01nds\tfi\u00ADve  horses\uFF0E "})
    ways.emplace_back(other);
  return ways;
}

}  // namespace sixfold::sample
