package chrono

import (
	"strings"
	"testing"
)

func TestNamesInLanguages(t *testing.T) {
	p, err := CompilePattern("EEEE EEE, d MMMM MMM a G")
	if err != nil {
		t.Fatal(err)
	}
	for locale, want := range map[string]string{
		"en":    "Saturday Sat, 12 September Sep PM AD",
		"EN-us": "Saturday Sat, 12 September Sep PM AD",
		"en-GB": "Saturday Sat, 12 September Sept pm AD",
		"en-NZ": "Saturday Sat, 12 September Sep PM AD",
		"fr":    "samedi sam., 12 septembre sept. PM ap. J.-C.",
		"fr-BE": "samedi sam., 12 septembre sept. PM ap. J.-C.",
		"de":    "Samstag Sa., 12 September Sept. PM n. Chr.",
		"ja":    "土曜日 土, 12 9月 9月 午後 西暦",
		"xx":    "Sat Sat, 12 Sep Sep PM CE",
		"":      "Sat Sat, 12 Sep Sep PM CE",
	} {
		if got := p.In(locale).Format(1442062800000, UTC); got != want {
			t.Errorf("[%s]: got %s, want %s", locale, got, want)
		}
	}
}

func TestEveryLanguageHasAllNames(t *testing.T) {
	for line := range strings.Lines(localeNames) {
		if fields := strings.Split(line, "|"); !strings.HasPrefix(line, "#") && len(fields) != 1+12+12+7+7+2+2 {
			t.Errorf("[%s] has [%d] fields", fields[0], len(fields))
		}
	}
}
