#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// The sentences of one paragraph. They are separated by spaces, except in Japanese.
struct SentenceCase {
  std::string_view language;
  std::vector<std::string> sentences;
};

/// Cases in which the end of a sentence is hard to find, one for each kind of difficulty.
inline const std::vector<SentenceCase> sentence_cases{
    {"en", {"The rain stopped.", "We went out."}},
    {"en", {"Where is the key?", "It lies under the mat."}},
    {"en", {"Look at that!", "A heron."}},
    {"en", {"Help!!", "Who goes there?!", "Nobody."}},
    {"en", {"The letter was for Dr. Smith.", "She read it."}},
    {"en", {"J. R. R. Tolkien taught at Oxford.", "He wrote at night."}},
    {"en", {"The dome of St. Paul's stands high.", "Mr. Wren built it."}},
    {"en", {"Prof. Dr. Mueller and Mrs. Hale spoke first."}},
    {"en", {"Anna B. Keller signed for Gen. Grant."}},
    {"en", {"We climbed Mt. Hood in June."}},
    {"en", {"Martin Luther King Jr. Day is in January."}},
    {"en", {"That was Sammy Davis Jr.'s piano."}},
    {"en", {"See p. 12 and pp. 30 to 40, Fig. 3 and Eq. (4)."}},
    {"en", {"Symphony No. 5 was played.", "No. 6 was not."}},
    {"en", {"Did you find it?", "No.", "He did."}},
    {"en", {"On Jan. 7 the lake froze.", "It was cold."}},
    {"en", {"Smith, Jones & Co. at last paid.", "They paid late."}},
    {"en", {"We wrote to Miller & Co. Singers wrote too."}},
    {"en", {"We sold it to Acme Inc.", "It was cheap."}},
    {"en", {"Apples, pears, plums etc. are fruit.", "Bring some nuts, etc.", "We need them."}},
    {"en", {"Fruit, e.g. Bramley apples, keeps.", "Others, i.e. Plums, do not."}},
    {"en", {"The case was Roe v. Wade.", "It took years."}},
    {"en", {"She moved to the U.S. last year."}},
    {"en", {"The U.S. Senate met."}},
    {"en", {"They live in the U.K.", "We visit them often."}},
    {"en", {"At 7 a.m. the baker opens.", "He closes at 6 p.m.", "Then he sleeps."}},
    {"en", {"She left at 6 P.M.", "Mr. Reed stayed."}},  // missed: a title may follow "P.M." within a sentence
    {"en", {"It costs $3.50.", "That is 0.5 more."}},
    {"en", {"Write to kim.lee@example.org.", "She answers."}},
    {"en", {"Read https://example.org/a.b/c.html first.", "Then call."}},
    {"en", {"He taught chess (He had been a master.) to children."}},
    {"en", {"They left (it was late).", "(Nobody minded.)", "The end."}},
    {"en", {"\"It is over.\" he said."}},
    {"en", {"\"Is it over?\" she asked.", "\"Yes!\" he cried."}},
    {"en", {"She said, “Wait.”", "He waited."}},
    {"en", {"He bought it at Jump! in the old town."}},
    {"en", {"1. Wash the pears.", "2. Cut them.", "10. Serve."}},
    {"en", {"1) wash pears", "2) cut them", "3) serve"}},
    {"en", {"1.) Wash pears", "2.) Cut them"}},
    {"en", {"a. Pears", "b. Plums", "c. Figs"}},
    {"en", {"• pears", "• plums", "• figs"}},
    {"en", {"It is no. 1.20.3.", "Keep it."}},
    {"en", {"They asked for you and I.", "Did Albert I. Stone come?"}},
    {"en", {"He thought... and then ... he slept."}},
    {"en", {"I never said so....", "You did."}},
    {"en", {"The thing . . . I forgot it."}},
    {"en", {"We were tired . . . .", "The road went on."}},
    {"en", {"“The tide [...] turned [...]” (Moore 12)."}},
    {"en", {"Carrots give vitamin A.", "Oranges give vitamin C."}},  // missed: "A. Oranges" may be a name
    {"en", {"We take plan B.", "It is cheaper."}},
    {"de", {"Es regnet.", "Wir bleiben hier."}},
    {"de", {"Wo ist er?", "Dort!", "Gut."}},
    {"de", {"Am 3. Oktober ist frei.", "Am 4. Oktober nicht."}},
    {"de", {"Der 2. Weltkrieg endete im 20. Jahrhundert."}},
    {"de", {"Ludwig XIV. Bau steht noch.", "Friedrich II. Der Große hieß er."}},  // missed: "II. Der"
    {"de", {"Er wurde 1990 geboren und starb 2020.", "Sie lebt."}},
    {"de", {"Er ist 20.", "Sie ist 30."}},
    {"de", {"Bis zum 01. Januar 2030 gilt es."}},
    {"de", {"Am 3. 5. 2021 kam er."}},
    {"de", {"Herr Dr. Müller kommt z.B. heute.", "Gut."}},
    {"de", {"Frau Prof. Dr. Weiß sprach mit Dr. med. Kern."}},
    {"de", {"Wir brauchen z. B. Brot, Käse usw.", "Das reicht."}},
    {"de", {"Sie müssen gehen, d. h. Sie haben keine Zeit."}},
    {"de", {"Er spricht u. a. Dänisch.", "Das hilft."}},
    {"de", {"Hefte, Bücher u. Ä. für die Schule."}},
    {"de", {"Der Bau begann 50 v. Chr. im Süden.", "Er endete 20 n. Chr.", "Das war spät."}},
    {"de", {"Siehe S. 12, Abb. 3 und Kap. IV.", "Dort steht es."}},
    {"de", {"Er wohnt in der Berliner Str. 5 in Ulm."}},
    {"de", {"Sie zahlte 3 Mio. Euro bzw. Dollar."}},
    {"de", {"Das macht 1.000.000 Euro.", "Oder 3,50 Euro."}},
    {"de", {"Die ev. Kirche und die kath. Schule sind alt."}},
    {"de", {"J. S. Bach schrieb es.", "C. P. E. Bach auch."}},
    {"de", {"„Ich gehe“, sagte er, „und du bleibst.“", "Wir nickten."}},
    {"de", {"„Kommst du?“ fragte sie.", "„Nein!“", "„Doch.“"}},
    {"de", {"Er las (das war spät!).", "Dann schlief er."}},
    {"de", {"1. Äpfel waschen.", "2. Äpfel schneiden."}},
    {"de", {"1. Er kam am 2. Mai."}},
    {"de", {"Es war ... wie immer... laut."}},
    {"de", {"Die Fa. Huber GmbH & Co. KG liefert.", "Sie liefert gern."}},
    {"ja", {"犬が寝る。", "猫が走る。"}},
    {"ja", {"本当？", "本当だ！", "よかった。"}},
    {"ja", {"「今日は休みです。」と彼は言った。", "皆が笑った。"}},
    {"ja", {"「行くの？」って聞いた。"}},
    {"ja", {"「雨だ。傘を持って。」と母が言う。"}},
    {"ja", {"「おはよう。」", "「おはようございます。」"}},
    {"ja", {"彼は「そうか」と答えた。", "『旅』を読む。"}},
    {"ja", {"終わった。", "（拍手）", "皆が立った。"}},  // missed: brackets end no sentence
    {"ja", {"店は開いている（雨の日は休み。）から行こう。"}},
    {"ja", {"「やめて！」", "彼女は叫んだ。"}},
    {"ja", {"値段は３．５ドルです。", "安い。"}},
    {"ja", {"「うん。」", "でも彼は来なかった。"}},
};

}  // namespace sixfold
