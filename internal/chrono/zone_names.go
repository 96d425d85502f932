package chrono

import (
	"strings"
	"sync"
	"time"
)

// namedZones are the English names of zones of which the IANA database has numbers, or names that
// others share: those of its standard time, short and long, those of its summer time, and the zones
// that have them.
//
//nolint:misspell // abbreviations of zones
const namedZones = `
WEST|Western European Summer Time|WET|Western European Time: Africa/Casablanca Africa/El_Aaiun
WAT|Western African Time|CAT|Central Africa Time: Africa/Windhoek
HAST|Hawaii-Aleutian Standard Time|HADT|Hawaii-Aleutian Daylight Time: America/Adak America/Atka
BRT|Brasilia Standard Time|BRST|Brasilia Summer Time: America/Araguaina America/Bahia America/Belem America/Fortaleza America/Maceio
BRT|Brasilia Standard Time|BRST|Brasilia Summer Time: America/Recife America/Santarem America/Sao_Paulo Brazil/East
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Argentina/Buenos_Aires America/Argentina/Catamarca
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Argentina/Tucuman America/Argentina/Ushuaia America/Buenos_Aires
ART|Argentina Standard Time|ARST|Argentina Summer Time: America/Catamarca America/Cordoba America/Jujuy America/Mendoza America/Rosario
PYT|Paraguay Standard Time|PYST|Paraguay Summer Time: America/Asuncion
AMT|Amazon Standard Time|AMST|Amazon Summer Time: America/Boa_Vista America/Campo_Grande America/Cuiaba America/Manaus America/Porto_Velho
AMT|Amazon Standard Time|AMST|Amazon Summer Time: Brazil/West
COT|Colombia Standard Time|COST|Colombia Summer Time: America/Bogota
VET|Venezuela Time: America/Caracas
GFT|French Guiana Time: America/Cayenne
ACT|Acre Standard Time|ACST|Acre Summer Time: America/Eirunepe America/Porto_Acre America/Rio_Branco Brazil/Acre
WGT|West Greenland Standard Time|WGST|West Greenland Summer Time: America/Godthab America/Nuuk
ECT|Ecuador Time|ECST|Ecuador Summer Time: America/Guayaquil
GYT|Guyana Time: America/Guyana
MST|Mexican Pacific Standard Time|MDT|Mexican Pacific Daylight Time: America/Hermosillo America/Mazatlan Mexico/BajaSur
BOT|Bolivia Time: America/La_Paz
PET|Peru Standard Time|PEST|Peru Summer Time: America/Lima
PMST|St. Pierre & Miquelon Standard Time|PMDT|St. Pierre & Miquelon Daylight Time: America/Miquelon
UYT|Uruguay Standard Time|UYST|Uruguay Summer Time: America/Montevideo
FNT|Fernando de Noronha Standard Time|FNST|Fernando de Noronha Summer Time: America/Noronha Brazil/DeNoronha
SRT|Suriname Time: America/Paramaribo
CLT|Chile Standard Time|CLST|Chile Summer Time: America/Santiago Chile/Continental
EGT|East Greenland Standard Time|EGST|East Greenland Summer Time: America/Scoresbysund
AWST|Casey Time: Antarctica/Casey
DAVT|Davis Time: Antarctica/Davis
DDUT|Dumont-d’Urville Time: Antarctica/DumontDUrville
MAWT|Mawson Time: Antarctica/Mawson
CLT|Chile Time|CLST|Chile Summer Time: Antarctica/Palmer
ROTT|Rothera Time: Antarctica/Rothera
SYOT|Syowa Time: Antarctica/Syowa
GMT|Greenwich Mean Time|CEST|Central European Summer Time: Antarctica/Troll
VOST|Vostok Time: Antarctica/Vostok
AST|Arabian Standard Time: Asia/Aden Asia/Bahrain Asia/Kuwait Asia/Qatar Asia/Riyadh
ALMT|East Kazakhstan Time|ALMST|Alma-Ata Summer Time: Asia/Almaty
EET|Eastern European Standard Time|EEST|Eastern European Summer Time: Asia/Amman Asia/Damascus
ANAT|Anadyr Standard Time|ANAST|Anadyr Summer Time: Asia/Anadyr
AQTT|West Kazakhstan Time|AQTST|Aqtau Summer Time: Asia/Aqtau
AQTT|West Kazakhstan Time|AQTST|Aqtobe Summer Time: Asia/Aqtobe
TMT|Turkmenistan Standard Time|TMST|Turkmenistan Summer Time: Asia/Ashgabat Asia/Ashkhabad
AST|Arabian Standard Time|ADT|Arabian Daylight Time: Asia/Baghdad
AZT|Azerbaijan Standard Time|AZST|Azerbaijan Summer Time: Asia/Baku
ICT|Indochina Time: Asia/Bangkok Asia/Ho_Chi_Minh Asia/Phnom_Penh Asia/Saigon Asia/Vientiane
KGT|Kyrgyzstan Time|KGST|Kirgizstan Summer Time: Asia/Bishkek
BNT|Brunei Darussalam Time: Asia/Brunei
YAKT|Yakutsk Standard Time|YAKST|Yakutsk Summer Time: Asia/Chita Asia/Khandyga Asia/Yakutsk
CHOT|Ulaanbaatar Standard Time|CHOST|Ulaanbaatar Summer Time: Asia/Choibalsan
IST|India Standard Time: Asia/Colombo
BDT|Bangladesh Standard Time|BDST|Bangladesh Summer Time: Asia/Dacca Asia/Dhaka
TLT|East Timor Time: Asia/Dili
GST|Gulf Standard Time: Asia/Dubai Asia/Muscat
TJT|Tajikistan Time|TJST|Tajikistan Summer Time: Asia/Dushanbe
EET|Eastern European Time|EEST|Eastern European Summer Time: Asia/Famagusta
HOVT|Hovd Standard Time|HOVST|Hovd Summer Time: Asia/Hovd
IRKT|Irkutsk Standard Time|IRKST|Irkutsk Summer Time: Asia/Irkutsk
TRT|Turkey Time|TRST|Turkey Summer Time: Asia/Istanbul Europe/Istanbul Turkey
AFT|Afghanistan Time: Asia/Kabul
PETT|Petropavlovsk-Kamchatski Standard Time|PETST|Petropavlovsk-Kamchatski Summer Time: Asia/Kamchatka
XJT|Xinjiang Standard Time: Asia/Kashgar Asia/Urumqi
NPT|Nepal Time: Asia/Kathmandu Asia/Katmandu
KRAT|Krasnoyarsk Standard Time|KRAST|Krasnoyarsk Summer Time: Asia/Krasnoyarsk Asia/Novokuznetsk
MYT|Malaysia Time: Asia/Kuala_Lumpur Asia/Kuching
MAGT|Magadan Standard Time|MAGST|Magadan Summer Time: Asia/Magadan
NOVT|Novosibirsk Standard Time|NOVST|Novosibirsk Summer Time: Asia/Novosibirsk
OMST|Omsk Standard Time|OMSST|Omsk Summer Time: Asia/Omsk
ORAT|West Kazakhstan Time|ORAST|Oral Summer Time: Asia/Oral
QOST|East Kazakhstan Time|QOSST|Kostanay Summer Time: Asia/Qostanay
QYZT|West Kazakhstan Time|QYZST|Qyzylorda Summer Time: Asia/Qyzylorda
MMT|Myanmar Time: Asia/Rangoon Asia/Yangon
SAKT|Sakhalin Standard Time|SAKST|Sakhalin Summer Time: Asia/Sakhalin
UZT|Uzbekistan Standard Time|UZST|Uzbekistan Summer Time: Asia/Samarkand Asia/Tashkent
SGT|Singapore Standard Time: Asia/Singapore Singapore
SRET|Srednekolymsk Time|SREDT|Srednekolymsk Daylight Time: Asia/Srednekolymsk
CST|Taipei Standard Time|CDT|Taipei Daylight Time: Asia/Taipei ROC
GET|Georgia Standard Time|GEST|Georgia Summer Time: Asia/Tbilisi
IRST|Iran Standard Time|IRDT|Iran Daylight Time: Asia/Tehran Iran
BTT|Bhutan Time: Asia/Thimbu Asia/Thimphu
ULAT|Ulaanbaatar Standard Time|ULAST|Ulaanbaatar Summer Time: Asia/Ulaanbaatar Asia/Ulan_Bator
VLAT|Vladivostok Standard Time|VLAST|Vladivostok Summer Time: Asia/Ust-Nera Asia/Vladivostok
YEKT|Yekaterinburg Standard Time|YEKST|Yekaterinburg Summer Time: Asia/Yekaterinburg
AMT|Armenia Standard Time|AMST|Armenia Summer Time: Asia/Yerevan
AZOT|Azores Standard Time|AZOST|Azores Summer Time: Atlantic/Azores
CVT|Cape Verde Standard Time: Atlantic/Cape_Verde
GST|South Georgia Time: Atlantic/South_Georgia
FKT|Falkland Islands Standard Time|FKST|Falkland Islands Summer Time: Atlantic/Stanley
ACWST|Australian Central Western Standard Time|ACWDT|Australian Central Western Daylight Time: Australia/Eucla
LHST|Lord Howe Standard Time|LHDT|Lord Howe Daylight Time: Australia/LHI Australia/Lord_Howe
EAST|Easter Island Standard Time|EASST|Easter Island Summer Time: Chile/EasterIsland Pacific/Easter
MSK|Moscow Standard Time|MSD|Moscow Summer Time: Europe/Minsk
SAMT|Samara Standard Time|SAMST|Samara Summer Time: Europe/Samara
MSK|Volgograd Standard Time|MSD|Volgograd Summer Time: Europe/Volgograd
IOT|Indian Ocean Time: Indian/Chagos
CXT|Christmas Island Time: Indian/Christmas
CCT|Cocos Islands Time: Indian/Cocos
TFT|French Southern & Antarctic Time: Indian/Kerguelen
SCT|Seychelles Time: Indian/Mahe
MVT|Maldives Time: Indian/Maldives
MUT|Mauritius Standard Time|MUST|Mauritius Summer Time: Indian/Mauritius
RET|Réunion Time: Indian/Reunion
WSST|Apia Standard Time|WSDT|Apia Daylight Time: Pacific/Apia
BST|Bougainville Standard Time: Pacific/Bougainville
CHAST|Chatham Standard Time|CHADT|Chatham Daylight Time: Pacific/Chatham
CHUT|Chuuk Time: Pacific/Chuuk Pacific/Truk Pacific/Yap
VUT|Vanuatu Standard Time|VUST|Vanuatu Summer Time: Pacific/Efate
TKT|Tokelau Time: Pacific/Fakaofo
FJT|Fiji Standard Time|FJST|Fiji Summer Time: Pacific/Fiji
TVT|Tuvalu Time: Pacific/Funafuti
GALT|Galapagos Time|GALST|Galapagos Summer Time: Pacific/Galapagos
GAMT|Gambier Time: Pacific/Gambier
SBT|Solomon Islands Time: Pacific/Guadalcanal
LINT|Line Islands Time: Pacific/Kiritimati
KOST|Kosrae Time: Pacific/Kosrae
MHT|Marshall Islands Time: Pacific/Kwajalein Pacific/Majuro
MART|Marquesas Time: Pacific/Marquesas
NRT|Nauru Time: Pacific/Nauru
NUT|Niue Time: Pacific/Niue
NFT|Norfolk Island Standard Time|NFST|Norfolk Island Daylight Time: Pacific/Norfolk
NCT|New Caledonia Standard Time|NCST|New Caledonia Summer Time: Pacific/Noumea
PWT|Palau Time: Pacific/Palau
PST|Pitcairn Time: Pacific/Pitcairn
PONT|Ponape Time: Pacific/Pohnpei Pacific/Ponape
PGT|Papua New Guinea Time: Pacific/Port_Moresby
CKT|Cook Islands Standard Time|CKHST|Cook Islands Half Summer Time: Pacific/Rarotonga
TAHT|Tahiti Time: Pacific/Tahiti
GILT|Gilbert Islands Time: Pacific/Tarawa
TOT|Tonga Standard Time|TOST|Tonga Summer Time: Pacific/Tongatapu
WAKT|Wake Island Time: Pacific/Wake
WFT|Wallis & Futuna Time: Pacific/Wallis
`

// zoneNames are the names of a zone: of standard time and of summer time, empty where it has none.
type zoneNames struct{ short, long [2]string }

var namesOfZones = sync.OnceValue(func() map[string]*zoneNames {
	out := map[string]*zoneNames{}
	for line := range strings.Lines(namedZones) {
		names, zones, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n := &zoneNames{}
		for i, name := range strings.Split(names, "|") {
			if i%2 == 0 {
				n.short[i/2] = name
			} else {
				n.long[i/2] = name
			}
		}
		for zone := range strings.FieldsSeq(zones) {
			out[zone] = n
		}
	}
	return out
})

// ownName returns what the zone alone is called at an instant, "" if it has no name of its own.
func (z *Zone) ownName(ms int64, long bool) string {
	n := namesOfZones()[z.Name()]
	if n == nil {
		return ""
	}
	season := 0
	if z.loc != nil && time.UnixMilli(ms).In(z.loc).IsDST() {
		season = 1
	}
	if long {
		return n.long[season]
	}
	return n.short[season]
}
