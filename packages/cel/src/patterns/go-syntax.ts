/** The names in `\p{name}` of Go 1.26's `unicode` (Unicode 15.0): categories and scripts, as RE2JS spells them. */
const NAMES = [
  'C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs',
  'Any Assigned',
  'Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille',
  'Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot',
  'Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian',
  'Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana',
  'Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi',
  'Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam',
  'Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi',
  'Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki',
  'Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage',
  'Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian',
  'Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet',
  'Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi',
  'Zanabazar_Square',
];

/** Other names of categories: `CategoryAliases` of the same package, and ASCII, which RE2JS spells differently. */
const ALIASES = [
  'ASCII:Ascii',
  'Cased_Letter:LC Close_Punctuation:Pe Combining_Mark:M Connector_Punctuation:Pc Control:Cc Currency_Symbol:Sc Dash_Punctuation:Pd',
  'Decimal_Number:Nd Enclosing_Mark:Me Final_Punctuation:Pf Format:Cf Initial_Punctuation:Pi Letter:L Letter_Number:Nl',
  'Line_Separator:Zl Lowercase_Letter:Ll Mark:M Math_Symbol:Sm Modifier_Letter:Lm Modifier_Symbol:Sk Nonspacing_Mark:Mn Number:N',
  'Open_Punctuation:Ps Other:C Other_Letter:Lo Other_Number:No Other_Punctuation:Po Other_Symbol:So Paragraph_Separator:Zp',
  'Private_Use:Co Punctuation:P Separator:Z Space_Separator:Zs Spacing_Mark:Mc Surrogate:Cs Symbol:S Titlecase_Letter:Lt',
  'Unassigned:Cn Uppercase_Letter:Lu cntrl:Cc digit:Nd punct:P',
];

/**
 * A quotation, `\p{Greek}` or `\PL`, another escape, the start of a named group, `[:name:]`, the start and the end of a bracketed class. An
 * unclosed brace ends with the pattern, so that each character is read once.
 */
const TOKEN = /\\Q.*?(?:\\E|$)|\\[pP](?:\{[^}]*(?:\}|$)|.)|\\.|\(\?P?<\w+>|\[:\^?\w+:\]|\[\^?\]?|\]/gsu;

/** Spellings of a name that Go does not tell apart have the same key. */
const keyOf = (name: string) => name.replace(/[ _-]/g, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const CLASSES: ReadonlyMap<string, string> = new Map([
  ...NAMES.flatMap((line) => line.split(' ').map((name) => [keyOf(name), name] as const)),
  ...ALIASES.flatMap((line) => line.split(' ').map((pair) => pair.split(':') as [string, string])).map(
    ([alias, name]) => [keyOf(alias), name] as const,
  ),
]);

/**
 * Translates a pattern of Go 1.26 for RE2JS. In names of Unicode classes, Go ignores case, spaces, underscores and hyphens. It knows aliases
 * of categories, but no other properties (`\p{Emoji}`), and accepts a repeated group name; no caller reads groups by name. Unlike Go 1.26.8,
 * this also accepts names of scripts with several words, such as `\p{Old_Italic}`: older releases of Go accept them, and its documents
 * name them.
 */
export function fromGoSyntax(pattern: string): string {
  let isInClass = false;
  const names = new Set<string>();
  const lastNameEnd = pattern.lastIndexOf(':]');
  return pattern.replace(TOKEN, (token, at: number) => {
    if (/^\\[pP]/.test(token)) return unicodeClass(token);
    if (token.startsWith('[:')) return token;
    if (token.startsWith('[') || token === ']') {
      const wasInClass = isInClass;
      isInClass = token.startsWith('[') && !(isInClass && token.endsWith(']'));
      // No name begins here. RE2JS would search for its end up to the end of the pattern.
      return wasInClass && at > lastNameEnd && pattern[at + 1] === ':' ? `\\${token}` : token;
    }
    if (!token.startsWith('(') || isInClass) return token;
    const name = token.slice(token.indexOf('<'));
    if (names.has(name)) return '(';
    names.add(name);
    return token;
  });
}

/** Go's message for a message of RE2JS about `fromGoSyntax(pattern)`. It contains the pattern, or the unknown class, as it was written. */
export function inGoSyntax(message: string, pattern: string): string {
  const whole = message.replace(fromGoSyntax(pattern), () => pattern).replace(/(\\[pP]\{)\?/, '$1');
  return whole.endsWith('at end of expression') ? `${whole}: \`\`` : whole;
}

/** An unknown name gets a question mark, so that RE2JS, which knows more names, refuses it. */
function unicodeClass(token: string): string {
  if (token[2] === '{' && !token.endsWith('}')) return token;
  const [, start = '', not = '', name = ''] = /^(\\[pP])\{?(\^?)([^}]*)\}?$/s.exec(token) ?? [];
  const known = CLASSES.get(keyOf(name));
  if (known === name) return token;
  if (known !== undefined) return `${start}{${not}${known}}`;
  return token.endsWith('}') ? `${start}{?${token.slice(3)}` : token;
}
