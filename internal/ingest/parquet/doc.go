// Package parquet reads Apache Parquet files: the footer, the schema, and column by column the
// pages of row groups.
//
// The path of a page:
//
//	file -> Open: footer, schema, row groups
//	  RowGroup.Pages(leaf) -> Pages: one column chunk
//	    header (thrift) -> checksum -> decompress -> levels -> values -> Page
//
// Files are not trusted. The following holds for each page, or reading it fails:
//
//  1. A buffer has exactly the length that the header promises, and every byte was written by this
//     page. It cannot expose bytes of another page or file.
//  2. A page has as many levels as its header says, all at most the maximum of its column, and as
//     many values as the levels require.
//  3. An index into a dictionary is less than the size of the dictionary.
//  4. The pages of a column chunk together have the number of values that the footer says, and the
//     number of rows of the row group.
//  5. Allocations are bounded by the size to which the available bytes can expand.
//
// A failure is a *Damage or an *Unsupported, with a message for the user, or the error of the
// source of the bytes. The package does not panic on any input.
//
// Rows converts the columns of a row group into objects. Package ingest converts pages into columns
// without rows, and opens the bytes.
package parquet
