package syntax

import "strings"

// keyword is a word the grammar knows. Keywords up to lastReserved can't be names unless quoted;
// the others are ordinary names that mean something special only where the grammar looks for them.
//
// The reserved set is what the grammar needs and no more: a strict subset of Druid's (docs/sql.md),
// so that every statement valid there is valid here and columns called value, date or count need no
// quotes.
type keyword uint16

const (
	kwNone keyword = iota
	kwAll
	kwAnd
	kwAny
	kwAs
	kwBetween
	kwBy
	kwCase
	kwCast
	kwClustered
	kwCreate
	kwCross
	kwCurrentDate
	kwCurrentTime
	kwCurrentTimestamp
	kwDefault
	kwDelete
	kwDistinct
	kwDrop
	kwElse
	kwEnd
	kwEscape
	kwExcept
	kwExists
	kwExplain
	kwExtend
	kwFalse
	kwFetch
	kwFor
	kwFrom
	kwFull
	kwGroup
	kwHaving
	kwIn
	kwInner
	kwInsert
	kwIntersect
	kwInterval
	kwInto
	kwIs
	kwJoin
	kwLateral
	kwLeft
	kwLike
	kwLimit
	kwLocaltime
	kwLocaltimestamp
	kwMatchRecognize
	kwMerge
	kwMinus
	kwNatural
	kwNot
	kwNull
	kwOffset
	kwOn
	kwOr
	kwOrder
	kwOuter
	kwOver
	kwPartition
	kwPartitioned
	kwQualify
	kwRecursive
	kwRight
	kwSelect
	kwSet
	kwSimilar
	kwSome
	kwTable
	kwTablesample
	kwThen
	kwTo
	kwTrue
	kwUescape
	kwUnion
	kwUnknown
	kwUnnest
	kwUpdate
	kwUsing
	kwValues
	kwWhen
	kwWhere
	kwWindow
	kwWith
	lastReserved = kwWith
)

const (
	kwAbsent = lastReserved + 1 + iota
	kwAlter
	kwArray
	kwAsc
	kwAsymmetric
	kwAttributes
	kwBernoulli
	kwBoth
	kwCall
	kwCeil
	kwCeiling
	kwCentury
	kwChar
	kwCharacter
	kwCommit
	kwConditional
	kwContains
	kwCube
	kwCurrent
	kwD
	kwDate
	kwDay
	kwDecade
	kwDesc
	kwDescribe
	kwDot
	kwDouble
	kwDow
	kwDoy
	kwEmpty
	kwEpoch
	kwEquals
	kwError
	kwExclude
	kwExcluding
	kwExecute
	kwExtern
	kwExtract
	kwFilter
	kwFirst
	kwFloor
	kwFn
	kwFollowing
	kwFracSecond
	kwGrant
	kwGrouping
	kwGroups
	kwHour
	kwIgnore
	kwIlike
	kwImmediately
	kwImplementation
	kwInclude
	kwIncluding
	kwIsodow
	kwIsoyear
	kwJson
	kwJsonArray
	kwJsonArrayagg
	kwJsonExists
	kwJsonObject
	kwJsonObjectagg
	kwJsonQuery
	kwJsonValue
	kwKey
	kwLast
	kwLeading
	kwLocal
	kwMicrosecond
	kwMillennium
	kwMillisecond
	kwMinute
	kwMonth
	kwNanosecond
	kwNext
	kwNo
	kwNulls
	kwObject
	kwOnly
	kwOrdinality
	kwOthers
	kwOverlaps
	kwOverlay
	kwOverwrite
	kwPivot
	kwPlacing
	kwPlan
	kwPosition
	kwPrecedes
	kwPreceding
	kwPrecision
	kwQuarter
	kwRange
	kwRepeatable
	kwReplace
	kwRespect
	kwReturning
	kwRevoke
	kwRollback
	kwRollup
	kwRow
	kwRows
	kwSafeCast
	kwScalar
	kwSecond
	kwSets
	kwShow
	kwSubstring
	kwSucceeds
	kwSymmetric
	kwSystem
	kwT
	kwTies
	kwTime
	kwTimestamp
	kwTimestampadd
	kwTimestampdiff
	kwTrailing
	kwTrim
	kwTruncate
	kwTryCast
	kwTs
	kwType
	kwUnbounded
	kwUnconditional
	kwUnpivot
	kwUpsert
	kwUse
	kwValue
	kwVarying
	kwWeek
	kwWithin
	kwWithout
	kwWrapper
	kwXml
	kwYear
	kwZone
	keywordCount
)

var keywordText = [keywordCount]string{
	kwAll:              "ALL",
	kwAnd:              "AND",
	kwAny:              "ANY",
	kwAs:               "AS",
	kwBetween:          "BETWEEN",
	kwBy:               "BY",
	kwCase:             "CASE",
	kwCast:             "CAST",
	kwClustered:        "CLUSTERED",
	kwCreate:           "CREATE",
	kwCross:            "CROSS",
	kwCurrentDate:      "CURRENT_DATE",
	kwCurrentTime:      "CURRENT_TIME",
	kwCurrentTimestamp: "CURRENT_TIMESTAMP",
	kwDefault:          "DEFAULT",
	kwDelete:           "DELETE",
	kwDistinct:         "DISTINCT",
	kwDrop:             "DROP",
	kwElse:             "ELSE",
	kwEnd:              "END",
	kwEscape:           "ESCAPE",
	kwExcept:           "EXCEPT",
	kwExists:           "EXISTS",
	kwExplain:          "EXPLAIN",
	kwExtend:           "EXTEND",
	kwFalse:            "FALSE",
	kwFetch:            "FETCH",
	kwFor:              "FOR",
	kwFrom:             "FROM",
	kwFull:             "FULL",
	kwGroup:            "GROUP",
	kwHaving:           "HAVING",
	kwIn:               "IN",
	kwInner:            "INNER",
	kwInsert:           "INSERT",
	kwIntersect:        "INTERSECT",
	kwInterval:         "INTERVAL",
	kwInto:             "INTO",
	kwIs:               "IS",
	kwJoin:             "JOIN",
	kwLateral:          "LATERAL",
	kwLeft:             "LEFT",
	kwLike:             "LIKE",
	kwLimit:            "LIMIT",
	kwLocaltime:        "LOCALTIME",
	kwLocaltimestamp:   "LOCALTIMESTAMP",
	kwMatchRecognize:   "MATCH_RECOGNIZE",
	kwMerge:            "MERGE",
	kwMinus:            "MINUS",
	kwNatural:          "NATURAL",
	kwNot:              "NOT",
	kwNull:             "NULL",
	kwOffset:           "OFFSET",
	kwOn:               "ON",
	kwOr:               "OR",
	kwOrder:            "ORDER",
	kwOuter:            "OUTER",
	kwOver:             "OVER",
	kwPartition:        "PARTITION",
	kwPartitioned:      "PARTITIONED",
	kwQualify:          "QUALIFY",
	kwRecursive:        "RECURSIVE",
	kwRight:            "RIGHT",
	kwSelect:           "SELECT",
	kwSet:              "SET",
	kwSimilar:          "SIMILAR",
	kwSome:             "SOME",
	kwTable:            "TABLE",
	kwTablesample:      "TABLESAMPLE",
	kwThen:             "THEN",
	kwTo:               "TO",
	kwTrue:             "TRUE",
	kwUescape:          "UESCAPE",
	kwUnion:            "UNION",
	kwUnknown:          "UNKNOWN",
	kwUnnest:           "UNNEST",
	kwUpdate:           "UPDATE",
	kwUsing:            "USING",
	kwValues:           "VALUES",
	kwWhen:             "WHEN",
	kwWhere:            "WHERE",
	kwWindow:           "WINDOW",
	kwWith:             "WITH",
	kwAbsent:           "ABSENT",
	kwAlter:            "ALTER",
	kwArray:            "ARRAY",
	kwAsc:              "ASC",
	kwAsymmetric:       "ASYMMETRIC",
	kwAttributes:       "ATTRIBUTES",
	kwBernoulli:        "BERNOULLI",
	kwBoth:             "BOTH",
	kwCall:             "CALL",
	kwCeil:             "CEIL",
	kwCeiling:          "CEILING",
	kwCentury:          "CENTURY",
	kwChar:             "CHAR",
	kwCharacter:        "CHARACTER",
	kwCommit:           "COMMIT",
	kwConditional:      "CONDITIONAL",
	kwContains:         "CONTAINS",
	kwCube:             "CUBE",
	kwCurrent:          "CURRENT",
	kwD:                "D",
	kwDate:             "DATE",
	kwDay:              "DAY",
	kwDecade:           "DECADE",
	kwDesc:             "DESC",
	kwDescribe:         "DESCRIBE",
	kwDot:              "DOT",
	kwDouble:           "DOUBLE",
	kwDow:              "DOW",
	kwDoy:              "DOY",
	kwEmpty:            "EMPTY",
	kwEpoch:            "EPOCH",
	kwEquals:           "EQUALS",
	kwError:            "ERROR",
	kwExclude:          "EXCLUDE",
	kwExcluding:        "EXCLUDING",
	kwExecute:          "EXECUTE",
	kwExtern:           "EXTERN",
	kwExtract:          "EXTRACT",
	kwFilter:           "FILTER",
	kwFirst:            "FIRST",
	kwFloor:            "FLOOR",
	kwFn:               "FN",
	kwFollowing:        "FOLLOWING",
	kwFracSecond:       "FRAC_SECOND",
	kwGrant:            "GRANT",
	kwGrouping:         "GROUPING",
	kwGroups:           "GROUPS",
	kwHour:             "HOUR",
	kwIgnore:           "IGNORE",
	kwIlike:            "ILIKE",
	kwImmediately:      "IMMEDIATELY",
	kwImplementation:   "IMPLEMENTATION",
	kwInclude:          "INCLUDE",
	kwIncluding:        "INCLUDING",
	kwIsodow:           "ISODOW",
	kwIsoyear:          "ISOYEAR",
	kwJson:             "JSON",
	kwJsonArray:        "JSON_ARRAY",
	kwJsonArrayagg:     "JSON_ARRAYAGG",
	kwJsonExists:       "JSON_EXISTS",
	kwJsonObject:       "JSON_OBJECT",
	kwJsonObjectagg:    "JSON_OBJECTAGG",
	kwJsonQuery:        "JSON_QUERY",
	kwJsonValue:        "JSON_VALUE",
	kwKey:              "KEY",
	kwLast:             "LAST",
	kwLeading:          "LEADING",
	kwLocal:            "LOCAL",
	kwMicrosecond:      "MICROSECOND",
	kwMillennium:       "MILLENNIUM",
	kwMillisecond:      "MILLISECOND",
	kwMinute:           "MINUTE",
	kwMonth:            "MONTH",
	kwNanosecond:       "NANOSECOND",
	kwNext:             "NEXT",
	kwNo:               "NO",
	kwNulls:            "NULLS",
	kwObject:           "OBJECT",
	kwOnly:             "ONLY",
	kwOrdinality:       "ORDINALITY",
	kwOthers:           "OTHERS",
	kwOverlaps:         "OVERLAPS",
	kwOverlay:          "OVERLAY",
	kwOverwrite:        "OVERWRITE",
	kwPivot:            "PIVOT",
	kwPlacing:          "PLACING",
	kwPlan:             "PLAN",
	kwPosition:         "POSITION",
	kwPrecedes:         "PRECEDES",
	kwPreceding:        "PRECEDING",
	kwPrecision:        "PRECISION",
	kwQuarter:          "QUARTER",
	kwRange:            "RANGE",
	kwRepeatable:       "REPEATABLE",
	kwReplace:          "REPLACE",
	kwRespect:          "RESPECT",
	kwReturning:        "RETURNING",
	kwRevoke:           "REVOKE",
	kwRollback:         "ROLLBACK",
	kwRollup:           "ROLLUP",
	kwRow:              "ROW",
	kwRows:             "ROWS",
	kwSafeCast:         "SAFE_CAST",
	kwScalar:           "SCALAR",
	kwSecond:           "SECOND",
	kwSets:             "SETS",
	kwShow:             "SHOW",
	kwSubstring:        "SUBSTRING",
	kwSucceeds:         "SUCCEEDS",
	kwSymmetric:        "SYMMETRIC",
	kwSystem:           "SYSTEM",
	kwT:                "T",
	kwTies:             "TIES",
	kwTime:             "TIME",
	kwTimestamp:        "TIMESTAMP",
	kwTimestampadd:     "TIMESTAMPADD",
	kwTimestampdiff:    "TIMESTAMPDIFF",
	kwTrailing:         "TRAILING",
	kwTrim:             "TRIM",
	kwTruncate:         "TRUNCATE",
	kwTryCast:          "TRY_CAST",
	kwTs:               "TS",
	kwType:             "TYPE",
	kwUnbounded:        "UNBOUNDED",
	kwUnconditional:    "UNCONDITIONAL",
	kwUnpivot:          "UNPIVOT",
	kwUpsert:           "UPSERT",
	kwUse:              "USE",
	kwValue:            "VALUE",
	kwVarying:          "VARYING",
	kwWeek:             "WEEK",
	kwWithin:           "WITHIN",
	kwWithout:          "WITHOUT",
	kwWrapper:          "WRAPPER",
	kwXml:              "XML",
	kwYear:             "YEAR",
	kwZone:             "ZONE",
}

// maxKeywordLength bounds the upper-casing done to look a word up.
const maxKeywordLength = 20

var keywordByText = func() map[string]keyword {
	m := make(map[string]keyword, keywordCount)
	for k := kwNone + 1; k < keywordCount; k++ {
		m[keywordText[k]] = k
	}
	return m
}()

// lookupKeyword returns the keyword word spells in any case, or kwNone.
func lookupKeyword(word string) keyword {
	if len(word) > maxKeywordLength {
		return kwNone
	}
	var buf [maxKeywordLength]byte
	for i := 0; i < len(word); i++ {
		c := word[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return keywordByText[string(buf[:len(word)])]
}

func (k keyword) String() string   { return keywordText[k] }
func (k keyword) isReserved() bool { return k != kwNone && k <= lastReserved }

// IsReserved reports whether name must be quoted to be an identifier.
func IsReserved(name string) bool { return lookupKeyword(name).isReserved() }

// upper returns word in upper case, without allocating for keywords and for words that are already.
func upper(word string) string {
	if k := lookupKeyword(word); k != kwNone {
		return keywordText[k]
	}
	return strings.ToUpper(word)
}
