#include "data/stored_parallel_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

namespace sixfold {

std::string StoredParallelText::hash() const {
  HashStream hash;
  for (const auto* side : {&corpus.text.source, &corpus.text.target})
    for (const std::string& line : *side) hash.add(std::as_bytes(std::span(line.c_str(), line.size() + 1)));
  return hash.hex();
}

std::string to_json_text(const StoredParallelText& text) {
  nlohmann::ordered_json json{{"format_version", 1}};
  json["files"] = nlohmann::ordered_json::parse(to_json_text(text.files));
  json["report"] = nlohmann::ordered_json::parse(to_json_text(text.corpus.report));
  json["source"] = text.corpus.text.source;
  json["target"] = text.corpus.text.target;
  return json.dump(1) + "\n";
}

StoredParallelText parse_stored_parallel_text(const std::string& text, const std::string& where) {
  const auto json = parse_json(text, where);
  const std::string place = where + ": is damaged; remove it, and the run will read data.valid again";
  const JsonObject object(json, place);
  int64_t version = 0;
  object.read("format_version", version);
  require(version == 1,
          "{}: was written by another version of Sixfold; remove it, and the run will read data.valid again",
          where);
  StoredParallelText stored;
  stored.files = parse_file_stamps(object.at("files").dump(), place);
  stored.corpus.report = parse_corpus_report(object.at("report").dump(), place);
  object.read("source", stored.corpus.text.source);
  object.read("target", stored.corpus.text.target);
  require(stored.corpus.text.source.size() == stored.corpus.text.target.size(),
          "{}: it has {} source lines and {} target lines", place, stored.corpus.text.source.size(),
          stored.corpus.text.target.size());
  return stored;
}

}  // namespace sixfold
