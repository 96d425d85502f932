// Package kafkaserver runs a real Apache Kafka of one node for the tests of a package, where Java
// and Maven are installed. It is reachable over loopback only and does not outlive the tests.
//
// The central type is Server. Its jars are fetched once, into a permanent folder (Jars); command
// fetch does so before the tests. It has a listener for each security protocol, with users and
// certificates that are the same in all tests.
package kafkaserver
