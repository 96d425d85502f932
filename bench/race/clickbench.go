package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// hits is a table of page views in the shape of ClickBench's: the same 105 columns, made up values.
// What a query feels of the published data is kept: how many different values a column has (as a
// number where it is small, as a share of the rows where it grows with them), how unevenly they
// occur, and how many rows have none. The published table itself has 100 M rows of July 2013.
type hits struct{ rows int }

const (
	hitsStart = int64(1372636800000) // 2013-07-01T00:00:00Z
	hitsSpan  = 31 * dayMillis
	hitsRows  = 100_000_000 // of the published table
)

// hitsColumn says how the values of a column come about.
type hitsColumn struct {
	name string
	// distinct is the number of different values; below 1 it is their share of the rows.
	distinct float64
	// empty is the share of rows with 0 or the empty text.
	empty float64
	// skew: the higher, the more rows have the first few values; 1 is even.
	skew float64
	// text makes a value; nil: the column holds integers.
	text func(id uint64) string
	// wide integers are spread over that many bits, 0: they count from 1.
	wide uint
	// like names the column whose choice of value is repeated, as a hash repeats its text.
	like string
}

// hitsColumns are all columns but EventTime, which is the time.
var hitsColumns = []hitsColumn{
	{name: "WatchID", distinct: 0.9999, skew: 1, wide: 63},
	{name: "JavaEnable", distinct: 1, empty: 0.3, skew: 1},
	{name: "Title", distinct: 0.09, empty: 0.14, skew: 3, text: hitsTitle},
	{name: "GoodEvent", distinct: 1, skew: 1},
	{name: "EventDate"},
	{name: "CounterID", distinct: 6500, skew: 2.5},
	{name: "ClientIP", distinct: 0.1, skew: 2, wide: 32},
	{name: "RegionID", distinct: 9040, skew: 4},
	{name: "UserID", distinct: 0.176, skew: 2, wide: 63},
	{name: "CounterClass", distinct: 2, empty: 0.7, skew: 1},
	{name: "OS", distinct: 90, skew: 4},
	{name: "UserAgent", distinct: 80, skew: 4},
	{name: "URL", distinct: 0.183, skew: 3, text: hitsURL},
	{name: "Referer", distinct: 0.197, empty: 0.19, skew: 3, text: hitsURL},
	{name: "IsRefresh", distinct: 1, empty: 0.87, skew: 1},
	{name: "RefererCategoryID", distinct: 30, empty: 0.5, skew: 3},
	{name: "RefererRegionID", distinct: 600, empty: 0.6, skew: 3},
	{name: "URLCategoryID", distinct: 30, empty: 0.5, skew: 3},
	{name: "URLRegionID", distinct: 600, empty: 0.6, skew: 3},
	{name: "ResolutionWidth", distinct: 2000, empty: 0.02, skew: 5},
	{name: "ResolutionHeight", distinct: 1500, empty: 0.02, skew: 5},
	{name: "ResolutionDepth", distinct: 8, skew: 3},
	{name: "FlashMajor", distinct: 15, skew: 4},
	{name: "FlashMinor", distinct: 12, empty: 0.1, skew: 3},
	{name: "FlashMinor2", distinct: 2500, empty: 0.1, skew: 4, text: hitsNumberText},
	{name: "NetMajor", distinct: 5, empty: 0.7, skew: 2},
	{name: "NetMinor", distinct: 5, empty: 0.8, skew: 2},
	{name: "UserAgentMajor", distinct: 90, skew: 3},
	{name: "UserAgentMinor", distinct: 300, empty: 0.2, skew: 4, text: hitsNumberText},
	{name: "CookieEnable", distinct: 1, empty: 0.01, skew: 1},
	{name: "JavascriptEnable", distinct: 1, empty: 0.01, skew: 1},
	{name: "IsMobile", distinct: 1, empty: 0.95, skew: 1},
	{name: "MobilePhone", distinct: 90, empty: 0.94, skew: 3},
	{name: "MobilePhoneModel", distinct: 165, empty: 0.945, skew: 3, text: hitsModel},
	{name: "Params", distinct: 800, empty: 0.99, skew: 2, text: hitsWord},
	{name: "IPNetworkID", distinct: 0.03, skew: 2, wide: 32},
	{name: "TraficSourceID", distinct: 9, empty: 0.3, skew: 1},
	{name: "SearchEngineID", distinct: 95, empty: 0.85, skew: 5},
	{name: "SearchPhrase", distinct: 0.06, empty: 0.87, skew: 2, text: hitsPhrase},
	{name: "AdvEngineID", distinct: 18, empty: 0.9937, skew: 4},
	{name: "IsArtifical", distinct: 1, empty: 0.95, skew: 1},
	{name: "WindowClientWidth", distinct: 3500, empty: 0.05, skew: 3},
	{name: "WindowClientHeight", distinct: 2500, empty: 0.05, skew: 3},
	{name: "ClientTimeZone", distinct: 60, skew: 5},
	{name: "ClientEventTime", distinct: 0.025, skew: 1, wide: 31},
	{name: "SilverlightVersion1", distinct: 5, empty: 0.6, skew: 2},
	{name: "SilverlightVersion2", distinct: 2, empty: 0.6, skew: 1},
	{name: "SilverlightVersion3", distinct: 25, empty: 0.6, skew: 4, wide: 16},
	{name: "SilverlightVersion4", distinct: 3, empty: 0.6, skew: 1},
	{name: "PageCharset", distinct: 200, empty: 0.02, skew: 6, text: hitsWord},
	{name: "CodeVersion", distinct: 150, skew: 3},
	{name: "IsLink", distinct: 1, empty: 0.97, skew: 1},
	{name: "IsDownload", distinct: 1, empty: 0.99, skew: 1},
	{name: "IsNotBounce", distinct: 1, empty: 0.4, skew: 1},
	{name: "FUniqID", distinct: 0.2, empty: 0.1, skew: 2, wide: 63},
	{name: "OriginalURL", distinct: 0.05, empty: 0.75, skew: 2, text: hitsURL},
	{name: "HID", distinct: 0.6, skew: 1, wide: 30},
	{name: "IsOldCounter", empty: 1, distinct: 1, skew: 1},
	{name: "IsEvent", empty: 1, distinct: 1, skew: 1},
	{name: "IsParameter", empty: 1, distinct: 1, skew: 1},
	{name: "DontCountHits", distinct: 1, empty: 0.92, skew: 1},
	{name: "WithHash", distinct: 1, empty: 0.97, skew: 1},
	{name: "HitColor", distinct: 5, skew: 3, text: hitsLetter},
	{name: "LocalEventTime", distinct: 0.025, skew: 1, wide: 31},
	{name: "Age", distinct: 5, empty: 0.4, skew: 1},
	{name: "Sex", distinct: 2, empty: 0.4, skew: 1},
	{name: "Income", distinct: 4, empty: 0.4, skew: 1},
	{name: "Interests", distinct: 6000, empty: 0.4, skew: 3},
	{name: "Robotness", distinct: 50, empty: 0.3, skew: 2},
	{name: "RemoteIP", distinct: 0.1, skew: 2, wide: 32},
	{name: "WindowName", distinct: 300, empty: 0.7, skew: 4, wide: 31},
	{name: "OpenerName", distinct: 300, empty: 0.7, skew: 4, wide: 31},
	{name: "HistoryLength", distinct: 150, skew: 4},
	{name: "BrowserLanguage", distinct: 120, skew: 6, text: hitsLanguage},
	{name: "BrowserCountry", distinct: 140, skew: 6, text: hitsLanguage},
	{name: "SocialNetwork", distinct: 10, empty: 0.999, skew: 1, text: hitsWord},
	{name: "SocialAction", distinct: 10, empty: 0.999, skew: 1, text: hitsWord},
	{name: "HTTPError", distinct: 1, empty: 0.999, skew: 1},
	{name: "SendTiming", distinct: 0.001, empty: 0.5, skew: 5, wide: 20},
	{name: "DNSTiming", distinct: 10_000, empty: 0.6, skew: 5},
	{name: "ConnectTiming", distinct: 20_000, empty: 0.5, skew: 5},
	{name: "ResponseStartTiming", distinct: 40_000, empty: 0.4, skew: 5},
	{name: "ResponseEndTiming", distinct: 40_000, empty: 0.4, skew: 5},
	{name: "FetchTiming", distinct: 0.001, empty: 0.4, skew: 5, wide: 20},
	{name: "SocialSourceNetworkID", distinct: 8, empty: 0.97, skew: 2},
	{name: "SocialSourcePage", distinct: 0.001, empty: 0.98, skew: 2, text: hitsWord},
	{name: "ParamPrice", distinct: 1, empty: 0.999, skew: 1},
	{name: "ParamOrderID", distinct: 100, empty: 0.999, skew: 1, text: hitsWord},
	{name: "ParamCurrency", distinct: 3, empty: 0.01, skew: 6, text: hitsLetter},
	{name: "ParamCurrencyID", distinct: 3, empty: 0.99, skew: 1},
	{name: "OpenstatServiceName", distinct: 30, empty: 0.995, skew: 2, text: hitsWord},
	{name: "OpenstatCampaignID", distinct: 2000, empty: 0.995, skew: 2, text: hitsWord},
	{name: "OpenstatAdID", distinct: 3000, empty: 0.995, skew: 2, text: hitsWord},
	{name: "OpenstatSourceID", distinct: 3000, empty: 0.995, skew: 2, text: hitsWord},
	{name: "UTMSource", distinct: 1500, empty: 0.97, skew: 3, text: hitsWord},
	{name: "UTMMedium", distinct: 300, empty: 0.97, skew: 3, text: hitsWord},
	{name: "UTMCampaign", distinct: 4000, empty: 0.97, skew: 3, text: hitsWord},
	{name: "UTMContent", distinct: 4000, empty: 0.98, skew: 3, text: hitsWord},
	{name: "UTMTerm", distinct: 8000, empty: 0.98, skew: 3, text: hitsPhrase},
	{name: "FromTag", distinct: 1500, empty: 0.98, skew: 3, text: hitsWord},
	{name: "HasGCLID", distinct: 1, empty: 0.99, skew: 1},
	{name: "RefererHash", like: "Referer", distinct: 0.197, empty: 0.19, skew: 3, wide: 63},
	{name: "URLHash", like: "URL", distinct: 0.183, skew: 3, wide: 63},
	{name: "CLID", empty: 1, distinct: 1, skew: 1},
}

// table is the whole of it.
func (h hits) table() *table {
	t := &table{name: "hits", rows: h.rows, partitionedBy: "DAY", write: h.write}
	for _, c := range hitsColumns {
		typ := "BIGINT"
		if c.text != nil {
			typ = "VARCHAR"
		}
		t.columns = append(t.columns, column{c.name, typ})
	}
	return t
}

func (h hits) write(to io.Writer, format fileFormat) error {
	seeds := map[string]uint64{}
	for i, c := range hitsColumns {
		seeds[c.name] = mix(uint64(i) + 1)
	}
	return writeRows(to, format, h.table().columns, h.rows, func(w *rowWriter, row int) {
		at := hitsStart + int64(float64(row)*float64(hitsSpan)/float64(h.rows))
		w.begin(at)
		for _, c := range hitsColumns {
			if c.name == "EventDate" {
				w.integer(c.name, at/dayMillis)
				continue
			}
			seed := seeds[c.name]
			if c.like != "" {
				seed = seeds[c.like]
			}
			id := c.pick(row, h.rows, seed)
			if c.text == nil {
				w.integer(c.name, c.integer(id))
				continue
			}
			text := ""
			if id > 0 {
				text = c.text(id)
			}
			w.text(c.name, text, false)
		}
	})
}

// pick returns the number of the value in a row, 0 for none. Where values grow with the rows, new
// ones come evenly, and the other rows repeat values that came before.
func (c hitsColumn) pick(row, rows int, seed uint64) uint64 {
	r := mix(seed ^ uint64(row))
	u := float64(r>>11) / (1 << 53)
	values, empty := c.distinct, c.empty
	if share := c.distinct; share < 1 {
		before := math.Floor(share * float64(row))
		if math.Floor(share*float64(row+1)) > before || before == 0 {
			return uint64(before) + 1
		}
		values, empty = before, empty/(1-share)
	}
	if float64(mix(r)>>11)/(1<<53) < empty {
		return 0
	}
	return 1 + uint64(values*math.Pow(u, c.skew))
}

// integer is the value of a number.
func (c hitsColumn) integer(id uint64) int64 {
	if c.wide == 0 || id == 0 {
		return int64(id)
	}
	return int64(mix(id) >> (64 - c.wide))
}

// hitsSite is the host of a page; once in 6,000 pages it is the one that some queries look for.
func hitsSite(h uint64) string {
	if h%6000 == 0 {
		return "www.google.example"
	}
	return hitsWord(h%5000) + ".example"
}

func hitsURL(id uint64) string {
	h := mix(id + 1<<40)
	return fmt.Sprintf("http://%s/%s/%s?id=%d", hitsSite(h), hitsWord(h>>20%300), hitsWord(h>>40), id)
}

func hitsTitle(id uint64) string {
	h := mix(id + 2<<40)
	if h%6000 == 0 {
		return "Google " + hitsWord(h)
	}
	return fmt.Sprintf("%s %s %s - %s %d", hitsWord(h%900), hitsWord(h>>16%3000), hitsWord(h>>32), hitsSite(h), id)
}

func hitsPhrase(id uint64) string {
	h := mix(id + 3<<40)
	return hitsWord(h%2000) + " " + hitsWord(h>>20%20_000) + " " + strconv.FormatUint(id, 36)
}

func hitsWord(id uint64) string {
	h := mix(id + 4<<40)
	word := make([]byte, 3+h%8)
	for i := range word {
		word[i] = byte('a' + mix(h+uint64(i))%26)
	}
	return string(word)
}

func hitsModel(id uint64) string      { return "model " + strconv.FormatUint(id, 10) }
func hitsNumberText(id uint64) string { return "v" + strconv.FormatUint(id, 10) }
func hitsLetter(id uint64) string     { return string(rune('A' + id%26)) }
func hitsLanguage(id uint64) string   { return string([]byte{byte('a' + id%26), byte('a' + id/26%26)}) }
