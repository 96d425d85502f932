package kafkaserver

import (
	_ "embed"
	"os"
	"sync"

	"github.com/hengedb/henge/internal/testkit/maven"
)

//go:embed pom.xml
var pom []byte

// jarsFolder is the variable that names the folder of the jars instead of the user's cache.
const jarsFolder = "HENGE_KAFKA_JARS"

var jars = sync.OnceValues(func() (string, error) {
	return maven.Jars(os.Getenv(jarsFolder), "kafka-3.9.0", pom, "java", "keytool")
})

// Jars returns the folder with the jars of Kafka. It fetches them if they are not there.
func Jars() (string, error) { return jars() }
