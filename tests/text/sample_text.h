#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

namespace sixfold::sample {

/// Sentences of a small grammar, enough of them to train a tokenizer on.
inline std::vector<std::string> english() {
  std::vector<std::string> sentences;
  for (const char* who : {"A man", "The old woman", "My little brother", "Nobody"})
    for (const char* what : {"sees", "buys", "paints", "likes"})
      for (const char* whom : {"a red house", "two horses", "the girl's bicycle", "Zoë, quickly"})
        sentences.push_back(fmt::format("{} {} {}.", who, what, whom));
  return sentences;
}

inline std::vector<std::string> german() {
  std::vector<std::string> sentences;
  for (const char* who : {"Ein Mann", "Die alte Frau", "Mein kleiner Bruder", "Niemand"})
    for (const char* what : {"sieht", "kauft", "übermalt", "mag"})
      for (const char* whom : {"ein großes Haus", "zwei Pferde", "das Fahrrad", "Äpfel, schnell"})
        sentences.push_back(fmt::format("{} {} {}.", who, what, whom));
  return sentences;
}

inline std::vector<std::string> japanese() {
  std::vector<std::string> sentences;
  for (const char* who : {"男性", "女の人", "私の弟", "誰か"})
    for (const char* whom : {"赤い家", "二頭の馬", "自転車", "りんご"})
      for (const char* what : {"見ます", "買います", "描きます", "好みます"})
        sentences.push_back(fmt::format("{}は{}を{}。", who, whom, what));
  return sentences;
}

}  // namespace sixfold::sample
