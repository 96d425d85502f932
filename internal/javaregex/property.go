package javaregex

import (
	"slices"
	"strings"
	"unicode"
)

// posixSets are the classes of \p{...} that are about ASCII.
var posixSets = map[string]runeSet{
	"Lower": setOf('a', 'z'), "Upper": setOf('A', 'Z'), "ASCII": setOf(0, 127), "Alpha": setOf('A', 'Z', 'a', 'z'), "Digit": digitSet,
	"Alnum": setOf('0', '9', 'A', 'Z', 'a', 'z'), "Punct": setOf('!', '/', ':', '@', '[', '`', '{', '~'), "Graph": setOf('!', '~'),
	"Print": setOf(' ', '~'), "Blank": setOf('\t', '\t', ' ', ' '), "Cntrl": setOf(0, 31, 127, 127),
	"XDigit": setOf('0', '9', 'A', 'F', 'a', 'f'), "Space": spaceSet,
}

// binarySets are the properties of \p{Is...}, by names in capital letters without underscores.
var binarySets = map[string]func() runeSet{
	"ALPHABETIC": alphabetic, "ALPHA": alphabetic,
	"LETTER": of(unicode.L), "DIGIT": of(unicode.Nd), "IDEOGRAPHIC": of(unicode.Ideographic),
	"LOWERCASE": lowercase, "LOWER": lowercase, "UPPERCASE": uppercase, "UPPER": uppercase, "TITLECASE": of(unicode.Lt),
	"WHITESPACE": of(unicode.White_Space), "SPACE": of(unicode.White_Space), "CONTROL": of(unicode.Cc), "CNTRL": of(unicode.Cc),
	"PUNCTUATION": of(unicode.P), "PUNCT": of(unicode.P), "HEXDIGIT": hexDigits, "XDIGIT": hexDigits,
	"ASSIGNED": func() runeSet { return unassigned().negated() }, "NONCHARACTERCODEPOINT": of(unicode.Noncharacter_Code_Point),
	"JOINCONTROL": of(unicode.Join_Control), "WORD": unicodeWords,
	"ALNUM": func() runeSet { return alphabetic().union(fromTable(unicode.Nd)) },
	"BLANK": of(unicode.Zs, tab), "GRAPH": graphic,
	"PRINT": func() runeSet { return graphic().union(fromTable(unicode.Zs)) },
}

// javaSets are the properties of \p{java...}, which ask Java's own methods.
var javaSets = map[string]func() runeSet{
	"LowerCase": lowercase, "UpperCase": uppercase, "TitleCase": of(unicode.Lt), "Alphabetic": alphabetic,
	"Ideographic": of(unicode.Ideographic), "Digit": of(unicode.Nd), "Letter": of(unicode.L), "LetterOrDigit": of(unicode.L, unicode.Nd),
	"Defined": func() runeSet { return unassigned().negated() }, "SpaceChar": of(unicode.Z), "ISOControl": of(unicode.Cc),
	"Whitespace": func() runeSet {
		return fromTable(unicode.Z).intersection(setOf(0xa0, 0xa0, 0x2007, 0x2007, 0x202f, 0x202f).negated()).
			union(setOf('\t', '\r', 0x1c, 0x1f))
	},
	"IdentifierIgnorable": ignorable, "JavaIdentifierStart": of(unicode.L, unicode.Nl, unicode.Sc, unicode.Pc),
	"JavaIdentifierPart": func() runeSet {
		return fromTable(unicode.L, unicode.Nl, unicode.Nd, unicode.Sc, unicode.Pc, unicode.Mn, unicode.Mc).union(ignorable())
	},
	"UnicodeIdentifierStart": of(unicode.L, unicode.Nl, unicode.Other_ID_Start),
	"UnicodeIdentifierPart": func() runeSet {
		return fromTable(unicode.L, unicode.Nl, unicode.Nd, unicode.Pc, unicode.Mn, unicode.Mc, unicode.Other_ID_Start,
			unicode.Other_ID_Continue).union(ignorable())
	},
	"Mirrored": mirrored,
}

// tab is a table of one character.
var tab = &unicode.RangeTable{R16: []unicode.Range16{{Lo: '\t', Hi: '\t', Stride: 1}}}

func of(tables ...*unicode.RangeTable) func() runeSet {
	return func() runeSet { return fromTable(tables...) }
}

func alphabetic() runeSet { return fromTable(unicode.L, unicode.Nl, unicode.Other_Alphabetic) }
func lowercase() runeSet  { return fromTable(unicode.Ll, unicode.Other_Lowercase) }
func uppercase() runeSet  { return fromTable(unicode.Lu, unicode.Other_Uppercase) }
func hexDigits() runeSet  { return fromTable(unicode.Nd, unicode.Hex_Digit) }

// cased are the characters that have a case, which properties about a case stand for where case is
// ignored.
func cased() runeSet { return lowercase().union(uppercase()).union(fromTable(unicode.Lt)) }

// unicodeWords is \w by the rules of Unicode.
func unicodeWords() runeSet {
	return alphabetic().union(fromTable(unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control))
}

func unassigned() runeSet {
	return fromTable(unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z).negated()
}

func graphic() runeSet {
	return unassigned().union(fromTable(unicode.White_Space, unicode.Cc, unicode.Cs)).negated()
}

func ignorable() runeSet { return setOf(0, 8, 0xe, 0x1b, 0x7f, 0x9f).union(fromTable(unicode.Cf)) }

// mirrored are the characters that are mirrored in text from right to left: brackets, and the signs
// of mathematics that have a direction.
func mirrored() runeSet {
	return fromTable(unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf).union(setOf('<', '<', '>', '>', 0x2208, 0x220d, 0x2264, 0x226b))
}

// property reads what follows \p: one letter or {name}.
func (t *parser) property() runeSet {
	name := string(t.take())
	if name == "{" {
		end := slices.Index(t.in[t.pos:], '}')
		switch {
		case end < 0:
			t.fail("Unclosed character family")
			return nil
		case end == 0:
			t.fail("Empty character family")
			return nil
		}
		name = string(t.in[t.pos : t.pos+end])
		t.pos += end + 1
	}
	set := t.propertyOf(name)
	if set == nil {
		t.fail("Unknown character property name {%s}", name)
	}
	return set
}

// propertyOf returns the characters that have a property, nil if there is none of this name.
func (t *parser) propertyOf(name string) runeSet {
	if key, value, ok := strings.Cut(name, "="); ok {
		switch strings.ToLower(key) {
		case "sc", "script":
			return scriptSet(value)
		case "blk", "block":
			return blockSet(value)
		case "gc", "general_category":
			return t.categorySet(value)
		}
		return nil
	}
	if block, ok := strings.CutPrefix(name, "In"); ok {
		return blockSet(block)
	}
	if is, ok := strings.CutPrefix(name, "Is"); ok {
		if set := t.binarySet(is); set != nil {
			return set
		}
		if set := t.categorySet(is); set != nil {
			return set
		}
		return scriptSet(is)
	}
	if java, ok := strings.CutPrefix(name, "java"); ok {
		if t.has(flagIgnoreCase) && strings.HasSuffix(java, "Case") {
			return cased()
		}
		if set := javaSets[java]; set != nil {
			return set()
		}
		return nil
	}
	if set := posixSets[name]; set != nil {
		return t.posixSet(name, set)
	}
	return t.categorySet(name)
}

func (t *parser) posixSet(name string, set runeSet) runeSet {
	switch {
	case t.has(flagUnicodeClasses) && name != "ASCII":
		return t.binarySet(name)
	case t.has(flagIgnoreCase) && (name == "Lower" || name == "Upper"):
		return posixSets["Alpha"]
	}
	return set
}

func (t *parser) binarySet(name string) runeSet {
	name = strings.ReplaceAll(strings.ToUpper(name), "_", "")
	set := binarySets[name]
	switch {
	case set == nil:
		return nil
	case t.has(flagIgnoreCase) && (strings.HasPrefix(name, "LOWER") || strings.HasPrefix(name, "UPPER") || name == "TITLECASE"):
		return cased()
	}
	return set()
}

func (t *parser) categorySet(name string) runeSet {
	switch name {
	case "Lu", "Ll", "Lt":
		if t.has(flagIgnoreCase) {
			name = "LC"
		}
	case "Cn":
		return unassigned()
	case "C":
		return unassigned().union(fromTable(unicode.C))
	case "LD":
		return fromTable(unicode.L, unicode.Nd)
	case "L1":
		return setOf(0, 255)
	case "all":
		return anySet
	}
	if name == "LC" {
		return fromTable(unicode.Lu, unicode.Ll, unicode.Lt)
	}
	if table := unicode.Categories[name]; table != nil {
		return fromTable(table)
	}
	return nil
}

// scriptSet returns the characters of a script, nil if there is none of this name.
func scriptSet(name string) runeSet {
	for script, table := range unicode.Scripts {
		if code, ok := scriptCodes[script]; strings.EqualFold(script, name) || ok && strings.EqualFold(code, name) {
			return fromTable(table)
		}
	}
	if strings.EqualFold(name, "Unknown") || strings.EqualFold(name, "Zzzz") {
		var known runeSet
		for _, table := range unicode.Scripts {
			known = append(known, fromTable(table)...)
		}
		return known.normal().negated()
	}
	return nil
}

// charByName refuses what follows \N, the name of a character in braces: the table of all names
// would be a megabyte of the binary.
func (t *parser) charByName() rune {
	t.fail("Characters by their names are not supported; write \\x{..}")
	return 0
}

// fromTable returns the characters of some tables.
func fromTable(tables ...*unicode.RangeTable) runeSet {
	var out runeSet
	for _, table := range tables {
		for _, r := range table.R16 {
			out = appendStrided(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			out = appendStrided(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return out.normal()
}

func appendStrided(out runeSet, lo, hi, stride rune) runeSet {
	if stride == 1 {
		return append(out, lo, hi)
	}
	for r := lo; r <= hi; r += stride {
		out = append(out, r, r)
	}
	return out
}
