package hashorder

import (
	"strings"
	"testing"
)

// Orders in which release 27 of Druid lists the columns of datasources: the first grows its set
// once.
func TestSortTexts(t *testing.T) {
	for given, want := range map[string]string{
		"channel cityName comment countryIsoCode countryName isAnonymous isMinor isNew isRobot isUnpatrolled metroCode namespace page regionIsoCode regionName user delta added deleted": "isRobot countryIsoCode added regionName channel delta isUnpatrolled isNew isMinor isAnonymous deleted cityName metroCode namespace comment countryName page user regionIsoCode",
		"id s s2 ns tx l i d x f mv tm b j jt ip": "b tx d ns f ip i mv j jt l s x tm id s2",
		"l d f s mv al ad as n u":                 "as s ad d u f mv al l n",
		"channel countryName cnt added deleted":   "deleted added channel cnt countryName",
	} {
		texts := strings.Fields(given)
		SortTexts(texts)
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("[%s] is put in the order [%s], want [%s]", given, got, want)
		}
	}
}

func TestTextHashesUTF16(t *testing.T) {
	for text, want := range map[string]uint32{"": 0, "a": 97, "ab": 31*97 + 98, "\U0001F600": 31*0xD83D + 0xDE00} {
		if got := Text(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
