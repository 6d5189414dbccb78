#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/weight_type.h"
#include "serve/http/http_server.h"
#include "serve/service.h"

namespace sixfold::serve {

/// All settings of a server. They are read from a YAML file, from the environment and from the command line;
/// later sources take precedence.
struct ServeConfig {
  std::vector<std::string> models;
  std::string host = "127.0.0.1";
  int port = 7070;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  int threads = 0;
  WeightType precision = WeightType::stored;
  std::string alignment_layer;
  std::string api_keys;
  std::string glossaries;
  int glossary_count = 100;
  int64_t glossary_bytes = 16 << 20;
  std::string suggestions;
  std::string access_log;
  int64_t file_bytes = 64 << 20;
  int file_seconds = 1800;
  int connections = 256;
  int64_t body_bytes = 4 << 20;
  int64_t bodies_bytes = 128 << 20;
  int64_t text_bytes = 1'000'000;
  int64_t waiting_bytes = 16'000'000;
  int texts = 2048;
  int alternatives = 10;
  int new_tokens = 4096;
  int samples = 16;
  int observed_tokens = 64;
  bool keep_symbols = true;
  bool page = true;
  double arrival_seconds = 60;
  double request_seconds = 120;
  int idle_seconds = 5;
  double grace_seconds = 30;

  /// The options of the HTTP server. Each call opens the access log again, so that the file can be rotated.
  /// Throws if the log can't be opened.
  HttpOptions http() const;
  EngineSettings engine() const;
  ServiceOptions service() const;
};

inline void visit(OptionVisitor& v, ServeConfig& o) {
  v.field("models", o.models,
          "what to serve: LANGUAGES=FOLDER, as in en-de=run/model, or NAME=FOLDER; of an ensemble all folders, "
          "with a + between them");
  v.field("host", o.host, "address to listen to; 0.0.0.0: all addresses of this machine");
  v.field("port", o.port, "port to listen to; 0: any that is free", between(0, 65535));
  v.field("hosts", o.hosts,
          "names under which the server may be asked besides those of this machine, as in mt.example.org; "
          "*: any; empty: any, unless it listens to this machine alone and needs no API key");
  v.field(
      "origins", o.origins,
      "pages that may use the server besides its own, as in https://example.org; loopback: those of this "
      "machine; *: every page; empty: every page, or loopback if it listens to this machine alone and needs "
      "no API key");
  v.field("threads", o.threads, "threads that decode, for each model; 0: one for each processor core",
          between(0, 4096));
  v.field("precision", o.precision, "type of the weights: stored, fp32, int8 or int4");
  v.field(
      "alignment_layer", o.alignment_layer,
      "decoder layer of word alignments, by which tags are placed, from 0, or from the last with -1, -2, ...; "
      "empty: the one stored with each model");
  v.field(
      "api_keys", o.api_keys,
      "file of API keys: in each line a key and, if it is limited, its number of requests a minute; empty: no "
      "key is needed");
  v.field("glossaries", o.glossaries,
          "folder in which glossaries are kept when the server ends; empty: they are kept in memory alone");
  v.field("glossary_count", o.glossary_count, "maximum number of glossaries of an API key",
          between(0, 1 << 20));
  v.field("glossary_bytes", o.glossary_bytes, "maximum number of bytes of all glossaries of an API key",
          between(0, 1 << 30));
  v.field("suggestions", o.suggestions,
          "file to which suggested translations are added, as lines of JSON; empty: none are taken");
  v.field("access_log", o.access_log,
          "file to which a line for each request is added, without its texts, in the common log format of web "
          "servers; -: standard error; empty: none is written");
  v.field("file_bytes", o.file_bytes,
          "maximum number of bytes of all translated files that wait to be downloaded",
          between(0, int64_t{1} << 40));
  v.field("file_seconds", o.file_seconds, "seconds for which a translated file can be downloaded",
          between(1, 86'400));
  v.field("connections", o.connections,
          "maximum number of connections at a time; beyond, the one that has waited longest for a whole "
          "request ends",
          between(1, 10'000));
  v.field("body_bytes", o.body_bytes, "maximum number of bytes of the body of a request", between(1, 1 << 30));
  v.field("bodies_bytes", o.bodies_bytes,
          "maximum number of bytes of the bodies of all requests at a time; beyond, the largest that arrives "
          "slowly ends, "
          "or the new "
          "one is answered with status 503",
          at_least(1));
  v.field("text_bytes", o.text_bytes, "maximum number of bytes of all texts of a request", between(1, 1 << 30));
  v.field("waiting_bytes", o.waiting_bytes,
          "maximum number of bytes of the texts of all requests at a time; a request beyond is answered with "
          "status 503",
          at_least(1));
  v.field("texts", o.texts, "maximum number of texts of a request", between(1, 1 << 20));
  v.field("alternatives", o.alternatives, "maximum number of translations besides the best", between(0, 100));
  v.field("new_tokens", o.new_tokens, "maximum number of tokens of a text that a language model generates",
          between(1, 1 << 20));
  v.field("samples", o.samples, "maximum number of texts that a language model generates for a prompt",
          between(1, 1000));
  v.field("observed_tokens", o.observed_tokens,
          "maximum number of tokens of a sentence of which attention of all layers, or the steps of the "
          "search, is shown; 0: "
          "of none",
          between(0, 4096));
  v.field("keep_symbols", o.keep_symbols,
          "whether a sentence without a letter or digit is kept as it is; false: it is translated");
  v.field("page", o.page, "whether the address / is a page for browsers");
  v.field("arrival_seconds", o.arrival_seconds, "maximum number of seconds in which a request must arrive",
          between(0.1, 86'400));
  v.field("request_seconds", o.request_seconds, "maximum number of seconds in which a request must be answered",
          between(0.1, 86'400));
  v.field("idle_seconds", o.idle_seconds, "maximum number of seconds between two requests of a connection",
          between(1, 86'400));
  v.field("grace_seconds", o.grace_seconds, "seconds in which a server that ends finishes what it accepted",
          between(0, 86'400));
}

/// The keys of the settings that take effect only when a server is started.
std::vector<std::string> settings_fixed_at_start();

/// Returns the value of an environment variable, or null.
using Environment = std::function<const char*(const std::string& name)>;

/// Reads the settings from a YAML or JSON file (unless its path is empty), from environment variables
/// (SIXFOLD_PORT for port), and from assignments such as "port=8080". Throws an input error, with the place,
/// for an unknown key or an invalid value.
ServeConfig read_serve_config(const std::string& path, const Environment& environment,
                              const std::vector<std::string>& assignments);

}  // namespace sixfold::serve
