// Package result writes rows in the five result formats of the public interface, byte for byte as
// Apache Druid does, and as Arrow streams.
//
// The central type is Writer. It takes batches and appends to one buffer, without reflection and
// without boxed values. The SQL endpoints, the pages of asynchronous statements and exports use it.
// A Writer that is not closed does not write the end mark; the endpoint decides how a failure after
// the first byte affects the connection.
package result
