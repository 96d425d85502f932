// Package grpc serves gRPC calls over net/http: frames, status and deadline. It does not use the
// generated code of gRPC, which would add megabytes to the binary.
//
// The central type is Stream, one call. Serve converts a function of a Stream into an edge.Handler.
//
//	frame = compressed (0 or 1), length (uint32, big-endian), message
//
// A call is a POST. Its request body and its response body consist of frames, and the trailers
// grpc-status and grpc-message end the response. Over HTTP/2, request and response are streamed at
// the same time; over HTTP/1.1, by which a Router forwards calls, the response follows the request.
// Messages are not compressed. CodeOf determines the status of a fault.
package grpc
