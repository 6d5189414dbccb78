#!/usr/bin/env python3
"""Prints python/sixfold/_options.pyi: the keyword arguments of all functions, from the descriptions of the library."""

import sixfold._core


def type_of(name: str, kind: str, is_list: bool, may_be_none: bool) -> str:
    simple = {"N": "int", "X": "float", "BOOL": "bool", "TEXT": "str"}
    text = simple.get(kind) or f"Literal[{', '.join(map(repr, kind.split('|')))}]"
    if is_list:
        text = f"Sequence[{text}]"
    if name == "suppress_phrases":  # a list of lists
        text = f"Sequence[{text}]"
    return f"{text} | None" if may_be_none else text


print("# Made by python/options.py.")
print("from collections.abc import Mapping, Sequence")
print("from typing import Literal, TypedDict")
for group, options in sixfold._core.options().items():
    print(f"\nclass {group}(TypedDict, total=False):")
    for name, (kind, is_list, may_be_none, text) in {name: rest for name, *rest in options}.items():
        print(f"    {name}: {type_of(name, kind, is_list, may_be_none)}")
        print(f"    {text!r}")
    if group == "TranslateOptions":
        print("    glossary: Mapping[str, str]")
        print("    'phrases and their translations, which translations contain'")
