// Package parquet reads Apache Parquet files: the footer, the schema, and column by column the
// pages of row groups.
//
// The path of a page:
//
//	file -> Open: footer, schema, row groups
//	  RowGroup.Pages(leaf) -> Pages: one column chunk
//	    header (thrift) -> checksum -> decompress -> levels -> values -> Page
//
// A file is input from strangers. These hold for each page, or reading it fails:
//
//  1. A buffer has exactly the length that the header promises, and was written from first to last
//     byte by this page. Nothing of another page or file can be seen through it.
//  2. A page has as many levels as its header says, none above the maximum of its column, and as
//     many values as levels say.
//  3. An index into a dictionary is below the size of the dictionary.
//  4. The pages of a column chunk together have the values that the footer says, and the rows of the
//     row group.
//  5. What is allocated is bounded by what the bytes at hand can unpack to.
//
// Failures are a *Damage or an *Unsupported, in words for the user, or what the source of the bytes
// returned. Nothing here panics on any input.
//
// Turning values into those of columns, and levels into lists and objects, is the business of
// package ingest.
package parquet
