#!/usr/bin/env python3
"""Translates standard input line by line with a model folder, by the C interface and ctypes.

usage: translate_ctypes.py MODEL <text >translation
"""
import ctypes
import sys

sixfold = ctypes.CDLL("libsixfold_c.so.1")
sixfold.sixfold_error_message.restype = ctypes.c_char_p
sixfold.sixfold_translator_open.restype = ctypes.c_void_p
sixfold.sixfold_translator_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
sixfold.sixfold_translator_free.argtypes = [ctypes.c_void_p]
sixfold.sixfold_translate.restype = ctypes.c_void_p
sixfold.sixfold_translate.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p,
                                      ctypes.c_size_t, ctypes.c_void_p]
sixfold.sixfold_translations_text.restype = ctypes.c_char_p
sixfold.sixfold_translations_text.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
sixfold.sixfold_translations_free.argtypes = [ctypes.c_void_p]


def translate(translator, lines):
    """The translations of lines. Raises RuntimeError."""
    texts = (ctypes.c_char_p * len(lines))(*(line.encode() for line in lines))
    translations = sixfold.sixfold_translate(translator, texts, None, len(lines), None)
    if not translations:
        raise RuntimeError(sixfold.sixfold_error_message().decode())
    try:
        return [sixfold.sixfold_translations_text(translations, i, 0, None).decode() for i in range(len(lines))]
    finally:
        sixfold.sixfold_translations_free(translations)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[-1])
    translator = sixfold.sixfold_translator_open(sys.argv[1].encode(), None)
    if not translator:
        sys.exit(sixfold.sixfold_error_message().decode())
    for line in sys.stdin:
        print(translate(translator, [line.rstrip("\n")])[0], flush=True)
    sixfold.sixfold_translator_free(translator)


if __name__ == "__main__":
    main()
