#pragma once
#include <string_view>

// Lists of words for the rules of sentence ends, as written before the full stop, separated by spaces.

namespace sixfold::sentence_words {

struct Lists {
  std::u32string_view never_last, before_numbers, maybe_last, first_words;
};

inline constexpr Lists english{
    .never_last =
        U"Mr Mrs Ms Mx Dr Drs Prof Rev Fr Hon Gen Col Maj Capt Cmdr Lt Sgt Cpl Pvt Adm Sen Rep Gov Pres Supt "
        U"Messrs "
        U"Mme Mlle Mt Ft vs v cf viz approx e.g i.e E.g I.e eg ie",
    .before_numbers =
        U"No Nos no nos N° Nº p pp Fig Figs fig figs Eq Eqs eq Vol Vols vol Sec Secs sec Ch ch Chap chap Art "
        U"Arts art "
        U"Para para Pt pt ver Ref Refs ref Op op Ex ex Tel tel Ext ext Rm Apt ca c Jan Feb Mar Apr Jun Jul Aug "
        U"Sep "
        U"Sept Oct Nov Dec",
    .maybe_last =
        U"Co co Inc inc Ltd Corp Bros Jr Sr Esq etc al St Ave Blvd Rd Ln Hwy Sq Dept dept Univ Assn Govt govt "
        U"Intl "
        U"Dist Ariz Calif Colo Conn Fla Mass Mich Minn Okla Penn Tenn Tex Wis",
    .first_words =
        U"A An The This That These Those I You He She It We They One My Your His Her Its Our Their There Here "
        U"Then Now "
        U"When Where Who Whom Whose What Which Why How Did Do Does Is Are Was Were Has Have Had Can Could Will "
        U"Would "
        U"Shall Should Might Must But And Or Nor So Yet If Unless Although Though Because Since While Whereas "
        U"After "
        U"Before Once Until However Therefore Moreover Furthermore Meanwhile Nevertheless Instead Also Still "
        U"Even Just "
        U"Only Not No Yes Please Let Some Many Most Much All Each Every Both Few Several Another Other Others "
        U"Nobody "
        U"Everyone Everybody Someone Somebody Something Nothing Everything Today Yesterday Tomorrow Later Soon "
        U"Finally "
        U"As At By For From In On With Without To Unlike Despite During Perhaps Maybe Never Sometimes Often "
        U"Usually",
};

inline constexpr Lists german{
    .never_last =
        U"Dr Prof Hr Hrn Fr Frl Dipl Ing Mag med phil jur rer nat habil theol dent vet St Hl hl Gebr Fa Fam "
        U"Frhr bzw vgl "
        U"Vgl ca Ca evtl Evtl ggf Ggf inkl exkl zzgl abzgl sog bes insb gem ehem verh geb gest kath ev evang "
        U"röm griech "
        U"lat dt frz engl amerik österr urspr eigtl allg betr bzgl entspr gegr max min mind Max Mind zw versch "
        U"vorm wg "
        U"mtl jährl tägl wiss techn staatl städt südl nördl östl westl z.B Z.B d.h D.h i.d.R I.d.R m.E z.T Z.T "
        U"z.Z u.a "
        U"U.a u.U v.a V.a i.A i.V o.g s.o s.u",
    .before_numbers =
        U"Nr Nrn S s Abb Abs Art Bd Bde Kap Tab Ziff Aufl Jg Str Tel Fax Anm Anl Aufg Bl Pos Rn Rdnr Sp Z Jan "
        U"Feb Mär Apr "
        U"Jun Jul Aug Sep Sept Okt Nov Dez",
    .maybe_last =
        U"usw etc Chr Str str Nr Mio Mrd Tsd Std Min Sek Jh Jhd Jhdt Jr sen jun Co Inc Ltd Corp ff f Abt Bhf "
        U"Hbf Hg Hrsg Kap "
        U"Abb Abs Art Bd al",
    .first_words =
        U"Der Die Das Den Dem Ein Eine Einen Einem Einer Er Sie Es Ich Du Wir Ihr Man Dies Diese Dieser Dieses "
        U"Diesen "
        U"Diesem Jede Jeder Jedes Und Aber Oder Denn Doch Dann Da Damals Danach Dabei Dafür Dagegen Daher "
        U"Damit Daran Darauf "
        U"Daraus Darin Darum Davon Dazu Deshalb Deswegen Trotzdem Dennoch Jedoch Also Auch Nur Noch Nun Nach "
        U"Vor Bei Mit In "
        U"Im Am Auf Aus Von Vom Zu Zum Zur Für Um Seit Während Wegen Als Wenn Weil Ob Dass Wie Was Wer Wen Wem "
        U"Wo Warum Wann "
        U"Welche Welcher Welches Wohin Woher Wieso Ist Sind War Waren Hat Haben Hatte Kann Können Soll Sollen "
        U"Muss Müssen "
        U"Wird Werden Hier Dort Heute Gestern Morgen Jetzt Später Bald Immer Manchmal Oft Schon Vielleicht "
        U"Leider Mein Meine "
        U"Sein Seine Ihre Unser Unsere Alle Alles Viele Einige Manche Mehr Niemand Nichts Kein Keine So Bitte "
        U"Ja Nein Nicht",
};

}  // namespace sixfold::sentence_words
