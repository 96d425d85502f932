// Package nativetext writes expressions in the native expression language of Druid:
//
//	TIME_FLOOR(__time, 'PT1H')  ->  timestamp_floor("__time",'PT1H',null,'UTC')
//
// EXPLAIN shows expressions in this language, and so does the error for an invalid period. forms.go
// contains the functions whose native form differs; Function.NativeName writes all others. Package
// native reads the language.
package nativetext
