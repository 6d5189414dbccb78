#pragma once
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "page/browser.h"

namespace sixfold {

/// Expects that all text that is seen has a contrast of at least 4.5 to 1 to what is behind it (WCAG 2.2, level
/// AA; 3 to 1 for large text). Text on a picture or a gradient is not looked at.
inline void expect_contrast(Browser& browser, const std::string& where) {
  const auto faint = browser.evaluate(R"script((() => {
    const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a));
    const light = (colour) => colour.map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    const behind = (element) => {
      const layers = [];
      for (let at = element; at; at = at.parentElement)
        layers.unshift(numbers(getComputedStyle(at).backgroundColor));
      return layers.filter((layer) => layer.length).reduce((below, layer) => over(layer, below), canvas);
    };
    const found = [];
    for (const element of document.body.querySelectorAll("*")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const style = getComputedStyle(element), box = element.getBoundingClientRect();
      if (!own || box.width < 2 || style.visibility === "hidden") continue;
      if (["TITLE", "SCRIPT", "STYLE", "OPTION"].includes(element.tagName.toUpperCase())) continue;
      const below = behind(element);
      const text = over(numbers(element instanceof SVGElement ? style.fill : style.color), below);
      const [high, low] = [light(text), light(below)].sort((a, b) => b - a);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const contrast = (high + 0.05) / (low + 0.05);
      if (contrast < (large ? 3 : 4.5))
        found.push(`${element.tagName} "${element.textContent.trim().slice(0, 40)}": ${contrast.toFixed(2)}`);
    }
    return found;
  })())script");
  EXPECT_TRUE(faint.empty()) << where << ": " << faint.dump(1);
}

/// Expects that every control and picture has a name for screen readers.
inline void expect_names(Browser& browser) {
  static const std::set<std::string> roles = {"button",  "link",  "checkbox",  "combobox",  "slider",
                                              "textbox", "tab",   "radio",     "listbox",   "progressbar",
                                              "img",     "image", "searchbox", "spinbutton"};
  int found = 0;
  for (const auto& node : browser.accessibility()) {
    if (node.value("ignored", false) || !node.contains("role")) continue;
    const std::string role = node.at("role").value("value", "");
    if (!roles.contains(role)) continue;
    ++found;
    EXPECT_NE(node.value("name", Browser::Json::object()).value("value", ""), "")
        << role << ": " << node.dump();
  }
  EXPECT_GT(found, 0);
}

/// Expects that the page needs no scrolling to the side.
inline void expect_fits(Browser& browser, const std::string& where) {
  const auto width = browser.evaluate("document.documentElement.scrollWidth"),
             window = browser.evaluate("window.innerWidth");
  EXPECT_LE(width, window) << where;
}

}  // namespace sixfold
