#include "base/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "error_message.h"

namespace sixfold {

enum class Fruit { apple, pear, plum };

template <>
struct EnumNames<Fruit> {
  static constexpr std::pair<Fruit, std::string_view> names[] = {
      {Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::plum, "plum"}};
};

namespace {

struct Basket {
  std::vector<std::string> files;
  std::vector<int> sizes = {1, 2};
  Fruit fruit = Fruit::pear;
};

inline void visit(OptionVisitor& v, Basket& o) {
  v.field("files", o.files, "text files");
  v.field("sizes", o.sizes, "their sizes", at_least(0));
  v.field("fruit", o.fruit, "what is in it");
}

struct Shop {
  bool open = true;
  int count = 3;
  int64_t far = -5'000'000'000;
  uint64_t seed = std::numeric_limits<uint64_t>::max();
  double ratio = 0.1;
  float rate = 1e-9f;
  std::string name = "a \"b\"\n\tä: #c";
  std::string word = "true";
  Basket basket;
};

inline void visit(OptionVisitor& v, Shop& o) {
  v.field("open", o.open, "is it open");
  v.field("count", o.count, "how many", at_least(1));
  v.field("far", o.far, "how far");
  v.field("seed", o.seed, "of chance");
  v.field("ratio", o.ratio, "of two", from_to_below(0, 1));
  v.field("rate", o.rate, "per second");
  v.field("name", o.name, "over the door");
  v.field("word", o.word, "a word");
  v.group("basket", o.basket, "what is sold");
}

Shop shop_of_yaml(const std::string& text, const std::vector<std::string>& assignments = {}) {
  OptionNode root = parse_yaml_options(text, "shop.yaml");
  for (const std::string& assignment : assignments) set_option(root, assignment);
  Shop shop;
  read_options(root, shop);
  return shop;
}

std::string yaml_error(const std::string& text, const std::vector<std::string>& assignments = {}) {
  return error_message([&] { shop_of_yaml(text, assignments); });
}

const std::string nothing = "# only a comment\n";

TEST(Options, ReadsYaml) {
  const Shop shop = shop_of_yaml(R"(
open: false      # a comment
count: 7
far: 9000000000
ratio: 5e-1
name: plain words
basket:
  files: [a.en, "b,c"]
  sizes:
    - 4
    - 5
  fruit: plum
)");
  EXPECT_FALSE(shop.open);
  EXPECT_EQ(shop.count, 7);
  EXPECT_EQ(shop.far, 9'000'000'000);
  EXPECT_EQ(shop.ratio, 0.5);
  EXPECT_EQ(shop.name, "plain words");
  EXPECT_EQ(shop.basket.files, (std::vector<std::string>{"a.en", "b,c"}));
  EXPECT_EQ(shop.basket.sizes, (std::vector<int>{4, 5}));
  EXPECT_EQ(shop.basket.fruit, Fruit::plum);
  EXPECT_EQ(shop.rate, 1e-9f);  // not in the file
}

TEST(Options, WhatIsNotSaidLeavesTheDefaults) {
  EXPECT_EQ(shop_of_yaml(nothing).count, 3);
  EXPECT_EQ(shop_of_yaml("basket:\ncount: 4\n").basket.fruit, Fruit::pear);
}

TEST(Options, AssignmentsReplaceWhatTheFileSays) {
  const Shop shop =
      shop_of_yaml("count: 4\nbasket: {files: [a]}\n",
                   {"count=5", "basket.files=b=1,c", "basket.sizes=", "basket.fruit=apple", "name="});
  EXPECT_EQ(shop.count, 5);
  EXPECT_EQ(shop.basket.files, (std::vector<std::string>{"b=1", "c"}));
  EXPECT_TRUE(shop.basket.sizes.empty());
  EXPECT_EQ(shop.basket.fruit, Fruit::apple);
  EXPECT_EQ(shop.name, "");
  EXPECT_EQ(shop_of_yaml("basket:\n", {"basket.fruit=plum"}).basket.fruit, Fruit::plum);
  EXPECT_EQ(shop_of_yaml("basket: {files: one.tsv}").basket.files, std::vector<std::string>{"one.tsv"});
}

TEST(Options, UnknownKeysNameTheNearest) {
  EXPECT_EQ(yaml_error("count: 4\nbasket:\n  fiels: [a]\n"),
            "shop.yaml:3: unknown key 'basket.fiels' (did you mean 'files'?)");
  EXPECT_EQ(yaml_error("basket: {zzz: 1}"),
            "shop.yaml:1: unknown key 'basket.zzz' (known: files, sizes, fruit)");
  EXPECT_EQ(yaml_error(nothing, {"coutn=4"}), "--set coutn=4: unknown key 'coutn' (did you mean 'count'?)");
  EXPECT_EQ(yaml_error(nothing, {"baskets.fruit=plum"}),
            "--set baskets.fruit=plum: unknown key 'baskets' (did you mean 'basket'?)");
  EXPECT_EQ(yaml_error(nothing, {"basket..fruit=plum"}).substr(0, 47),
            "--set basket..fruit=plum: unknown key 'basket.'");
}

TEST(Options, WrongTypesSayWhatWasExpected) {
  EXPECT_EQ(yaml_error("open: yes"), "shop.yaml:1: open: expected true or false, found 'yes'");
  EXPECT_EQ(yaml_error("\ncount: 1.5"), "shop.yaml:2: count: expected a whole number, found '1.5'");
  EXPECT_EQ(yaml_error("count: \"4\""),
            "shop.yaml:1: count: expected a whole number without quotes, found '4'");
  EXPECT_EQ(yaml_error("open: 'true'"),
            "shop.yaml:1: open: expected true or false without quotes, found 'true'");
  EXPECT_EQ(yaml_error("count:"), "shop.yaml:1: count: expected a whole number, found nothing");
  EXPECT_EQ(yaml_error("seed: -1"),
            "shop.yaml:1: seed: expected a whole number that is not negative, found '-1'");
  EXPECT_EQ(yaml_error("rate: nan"), "shop.yaml:1: rate: expected a number, found 'nan'");
  EXPECT_EQ(yaml_error("name: [a]"), "shop.yaml:1: name: expected text, found a list");
  EXPECT_EQ(yaml_error("basket: 5"), "shop.yaml:1: basket: expected a group of keys with values, found '5'");
  EXPECT_EQ(yaml_error("basket: {files: {a: b}}"),
            "shop.yaml:1: basket.files: expected a list, found a group of keys");
  EXPECT_EQ(yaml_error("basket:\n  sizes: [1,\n    two]"),
            "shop.yaml:3: basket.sizes[1]: expected a whole number, found 'two'");
  EXPECT_EQ(yaml_error("basket: {fruit: plumb}"),
            "shop.yaml:1: basket.fruit: expected one of apple, pear, plum (perhaps plum), found 'plumb'");
  EXPECT_EQ(yaml_error("- 1"), "shop.yaml:1: expected a group of keys with values, found a list");
  EXPECT_EQ(yaml_error(nothing, {"count=many"}),
            "--set count=many: count: expected a whole number, found 'many'");
}

TEST(Options, RangesAreChecked) {
  EXPECT_EQ(yaml_error("count: 0"), "shop.yaml:1: count: expected a whole number at least 1, found '0'");
  EXPECT_EQ(yaml_error("ratio: 1"), "shop.yaml:1: ratio: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(yaml_error("basket: {sizes: [3, -1]}"),
            "shop.yaml:1: basket.sizes[1]: expected a whole number at least 0, found '-1'");
  Shop shop;
  EXPECT_NO_THROW(check_ranges(shop));
  shop.ratio = -1;
  EXPECT_EQ(error_message([&] { check_ranges(shop); }),
            "ratio: expected a number from 0 to below 1, found '-1'");
  shop.ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_message([&] { check_ranges(shop); }), "ratio: expected a number, found 'nan'");
}

struct Epsilons {
  float single = 0.5f;
  double precise = 0.5;
};

inline void visit(OptionVisitor& v, Epsilons& o) {
  v.field("single", o.single, "in 32 bits", between(1e-12, 0.9));
  v.field("precise", o.precise, "in 64 bits", between(1e-12, 0.9));
}

/// Although the float that is nearest to a bound may lie outside.
TEST(Options, BoundsAreAllowed) {
  for (const char* bound : {"1e-12", "0.9"}) {
    Epsilons epsilons;
    const OptionNode root = parse_yaml_options(fmt::format("single: {0}\nprecise: {0}", bound), "a");
    EXPECT_NO_THROW(read_options(root, epsilons)) << bound;
    EXPECT_NO_THROW(check_ranges(epsilons)) << bound;
  }
  Epsilons epsilons;
  for (const char* outside : {"0.9e-12", "0.90001"})
    EXPECT_THROW(read_options(parse_yaml_options(fmt::format("single: {}", outside), "a"), epsilons), Error);
}

TEST(Options, ABoundMayBeExcluded) {
  EXPECT_EQ(above(0).describe(), "above 0");
  EXPECT_FALSE(above(0).contains(0));
  EXPECT_TRUE(above(0).contains(1e-300));
  const Range share{.low = 0, .high = 1, .excludes_low = true};
  EXPECT_EQ(share.describe(), "above 0 and at most 1");
  EXPECT_TRUE(share.contains(1));
}

struct Counted {
  std::function<void()> large;
  int count = 1;
};
inline void visit(OptionVisitor& v, Counted& o) { v.field("count", o.count, "how many", at_least(1)); }

/// Options may have members that are costly to copy.
TEST(Options, CheckingRangesCopiesNothing) {
  struct Once {
    Once() = default;
    Once(Once&&) = default;
    Once(const Once&) { ADD_FAILURE() << "copied"; }
    void operator()() const {}
  };
  Counted options;
  options.large = Once();
  EXPECT_NO_THROW(check_ranges(options));
  options.count = 0;
  EXPECT_EQ(error_message([&] { check_ranges(options); }),
            "count: expected a whole number at least 1, found '0'");
  Shop shop;
  shop.basket.sizes = {-1};
  EXPECT_EQ(error_message([&] { check_ranges(shop); }),
            "basket.sizes[0]: expected a whole number at least 0, found '-1'");
}

TEST(Options, AValueMayBeAbsent) {
  std::optional<int> count;
  EXPECT_EQ(node_of(count).kind, OptionNode::Kind::null);
  const OptionNode five{.kind = OptionNode::Kind::plain, .text = "5"};
  read_value(OptionSource{five, "count", at_least(1)}, count);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(node_of(count).text, "5");
  const OptionNode bad{.kind = OptionNode::Kind::plain, .text = "0"};
  EXPECT_ANY_THROW(read_value(OptionSource{bad, "count", at_least(1)}, count));
  EXPECT_EQ(count, 5) << "what can't be read changes nothing";
  read_value(OptionSource{OptionNode(), "count", at_least(1)}, count);
  EXPECT_FALSE(count);
}

TEST(Options, TypesHaveNames) {
  EXPECT_EQ(type_name_of(true), "BOOL");
  EXPECT_EQ(type_name_of(uint64_t{1}), "N");
  EXPECT_EQ(type_name_of(1.0f), "X");
  EXPECT_EQ(type_name_of(std::string()), "TEXT");
  EXPECT_EQ(type_name_of(std::vector<std::string>()), "TEXT");
  EXPECT_EQ(type_name_of(std::optional<int>()), "N");
  EXPECT_EQ(type_name_of(Fruit::plum), "apple|pear|plum");
  EXPECT_EQ(type_name_of(std::vector<Fruit>()), "apple|pear|plum");
  EXPECT_EQ(type_name_of(ChosenNames{{}, {"a", "b"}}), "a|b");
}

TEST(Options, NumbersTooLargeForTheirTypeNameItsLimits) {
  EXPECT_EQ(yaml_error("count: 3000000000"),
            "shop.yaml:1: count: expected a whole number from 1 to 2147483647, found '3000000000'");
  EXPECT_EQ(yaml_error("basket: {sizes: [-3000000000]}"),
            "shop.yaml:1: basket.sizes[0]: expected a whole number from 0 to 2147483647, found '-3000000000'");
  EXPECT_EQ(yaml_error("rate: 1e99"),
            "shop.yaml:1: rate: expected a number that 32 bits of floating point can hold, found '1e99'");
  const std::string digits(310, '9');
  EXPECT_EQ(yaml_error("far: " + digits),
            "shop.yaml:1: far: expected a whole number from -9223372036854775808 to 9223372036854775807, "
            "found '" +
                digits.substr(0, 60) + "'...");
  EXPECT_EQ(between(-1e300, 1e300).describe(), "from -1e+300 to 1e+300");
}

TEST(Options, LongTextIsCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 40; ++i) text += "\u00e4";
  EXPECT_EQ(yaml_error("count: " + text),
            "shop.yaml:1: count: expected a whole number, found '" + text.substr(0, 59) + "'...");
}

TEST(Options, AssignedListsMayStandInBrackets) {
  const auto files = [](const std::string& list) {
    return shop_of_yaml(nothing, {"basket.files=" + list}).basket.files;
  };
  EXPECT_EQ(files("[a.en, a.de]"), (std::vector<std::string>{"a.en", "a.de"}));
  EXPECT_EQ(files("[\"a, b\",c]"), (std::vector<std::string>{"a, b", "c"}));
  EXPECT_EQ(files("a.en, a.de"), (std::vector<std::string>{"a.en", "a.de"}));
  EXPECT_EQ(files("[]"), std::vector<std::string>{});
  EXPECT_EQ(files(" "), std::vector<std::string>{""});
  EXPECT_EQ(shop_of_yaml(nothing, {"basket.sizes=[4, 5]"}).basket.sizes, (std::vector<int>{4, 5}));
  EXPECT_EQ(yaml_error(nothing, {"basket.files=[a"}),
            "--set basket.files=[a: basket.files: expected a list such as [a, b], found '[a'");
  EXPECT_EQ(yaml_error(nothing, {"basket.sizes=[1, two]"}),
            "--set basket.sizes=[1, two]: basket.sizes[1]: expected a whole number, found 'two'");
}

TEST(Options, ATabAsIndentIsNamed) {
  EXPECT_EQ(yaml_error("basket:\n\tfruit: plum\n"), "shop.yaml:2: the line is indented with a tab; use spaces");
  EXPECT_EQ(yaml_error("count: 1\n \tname: b"), "shop.yaml:2: the line is indented with a tab; use spaces");
  EXPECT_EQ(shop_of_yaml("count:\t4\t# not an indent\n").count, 4);
}

TEST(Options, EmptyTextIsNamed) {
  for (const char* empty : {"", "\n", " \r\n\t\n"}) {
    EXPECT_EQ(yaml_error(empty), "shop.yaml: is empty");
    EXPECT_EQ(error_message([&] { parse_json_options(empty, "shop.json"); }), "shop.json: is empty, not JSON");
  }
}

TEST(Options, BadAssignments) {
  EXPECT_EQ(yaml_error(nothing, {"count"}), "--set count: expected KEY=VALUE, as in train.minutes=5");
  EXPECT_EQ(yaml_error(nothing, {"=5"}), "--set =5: expected KEY=VALUE, as in train.minutes=5");
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  expect_holds(yaml_error(nothing, {deep + "=5"}), "...: the key is nested deeper than 32 levels");
  EXPECT_EQ(yaml_error("count: 4", {"count.a=5"}),
            "--set count.a=5: the part before 'a' is a value, not a group (shop.yaml:1)");
}

TEST(Options, HostileYaml) {
  EXPECT_EQ(yaml_error("count: 4\ncount: 5"), "shop.yaml:2: the key 'count' is given twice; remove one");
  EXPECT_EQ(yaml_error("a: &x [1]\nb: *x"), "shop.yaml:1: YAML anchors are not supported; remove the anchor");
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 2"),
            "shop.yaml:2: a second YAML document begins here; the file must hold only one");
  EXPECT_EQ(yaml_error("? [a]\n: b"), "shop.yaml:1: a key must be plain text, not a list or a group");
  EXPECT_EQ(yaml_error("count: [1").substr(0, 29), "shop.yaml:1: not valid YAML: ");
  EXPECT_EQ(yaml_error(std::string(5'000, '[') + std::string(5'000, ']')),
            "shop.yaml:1: nested deeper than 32 levels");
  EXPECT_EQ(yaml_error(std::string(2'000'000, 'a')),
            "shop.yaml: is larger than 1048576 bytes, the limit for a file of options");
  std::string wide, deep;
  for (int i = 0; i < 100'000; ++i) wide += fmt::format("k{}:\n", i);
  EXPECT_EQ(yaml_error(wide), "shop.yaml:1001: more than 1000 keys in one group");
  for (int i = 0; i < 1'000; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(yaml_error(deep), "shop.yaml:33: nested deeper than 32 levels");
}

bool same(const Shop& a, const Shop& b) { return to_json(write_options(a)) == to_json(write_options(b)); }

TEST(Options, JsonReadsBackTheSame) {
  Shop shop;
  shop.basket.files = {"a,b", ""};
  shop.ratio = 0.30000000000000004;
  const std::string json = to_json(write_options(shop));
  Shop read;
  read_options(parse_json_options(json, "shop.json"), read);
  EXPECT_TRUE(same(shop, read)) << json;
  EXPECT_EQ(read.seed, shop.seed);
  EXPECT_EQ(read.ratio, shop.ratio);
  EXPECT_EQ(read.rate, shop.rate);
  EXPECT_EQ(read.name, shop.name);
  EXPECT_EQ(read.basket.files, shop.basket.files);
}

TEST(Options, JsonKeepsTheOrderOfTheFields) {
  EXPECT_EQ(to_json(write_options(Basket{})), R"({
  "files": [],
  "sizes": [
    1,
    2
  ],
  "fruit": "pear"
}
)");
}

TEST(Options, JsonErrorsNameFileAndKey) {
  Shop shop;
  const auto message = [&](const std::string& text) {
    return error_message([&] { read_options(parse_json_options(text, "shop.json"), shop); });
  };
  EXPECT_EQ(message(R"({"basket": {"friut": "plum"}})"),
            "shop.json: unknown key 'basket.friut' (did you mean 'fruit'?)");
  EXPECT_EQ(message(R"({"count": "5"})"),
            "shop.json: count: expected a whole number without quotes, found '5'");
  EXPECT_EQ(message(R"({"count": null})"), "shop.json: count: expected a whole number, found nothing");
  EXPECT_EQ(message("[]"), "shop.json: expected a group of keys with values, found a list");
  shop.name = "\xff";
  EXPECT_EQ(error_message([&] { to_json(write_options(shop)); }),
            "the text of an option is not valid UTF-8, which JSON requires");
}

TEST(Options, TheListingExplainsAndReadsBack) {
  const std::string listing = to_documented_yaml(write_options(Shop{}));
  EXPECT_NE(listing.find("count: 3                              # how many; at least 1\n"), std::string::npos)
      << listing;
  EXPECT_NE(listing.find("  fruit: pear                         # what is in it\n"), std::string::npos)
      << listing;
  const Shop read = shop_of_yaml(listing);
  EXPECT_TRUE(same(read, Shop{})) << listing;
  EXPECT_EQ(read.word, "true");
}

}  // namespace
}  // namespace sixfold
