#pragma once
#include <string>
#include <vector>

namespace sixfold {

/// What makes a Marian model: its weights, and how they are to be used. (marian-nmt.github.io)
struct MarianFiles {
  std::string model;                ///< .npz
  std::vector<std::string> vocabs;  ///< of source and target: .spm, or .yml
  /// SentencePiece models of source and target that divide the text, where the vocabularies are .yml; none: the
  /// text is divided already, into symbols between spaces.
  std::vector<std::string> sentence_pieces = {};
  // Of the decoder, with its own defaults:
  int beam_size = 12;
  double normalize = 0;          ///< scores divide by n^normalize
  double max_length_factor = 3;  ///< longest output, times the source's length
  bool allow_unk = false;
};

/// The files and settings that a decoder.yml names. Throws an input error for settings that change what a
/// translation is and are not known here (several models, word penalty, ...).
MarianFiles read_marian_decoder_config(const std::string& path);

/// Makes the folder `output` from a model that Marian trained with --type transformer, rules of search
/// included. Throws an input error that names the option or tensor which has no counterpart here.
void import_marian(const MarianFiles& files, const std::string& output);

}  // namespace sixfold
