package kinesis

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
)

// Source is a stream. It implements stream.Source and stream.Lagger.
type Source struct {
	name  string
	delay time.Duration // between two requests for records of a shard
	api   *kinesis.Client
	http  *http.Client
	clock clock.Clock

	mu   sync.Mutex
	tips map[stream.Partition]*tip
}

// tip is where a shard ended when it was last looked at.
type tip struct {
	at       stream.Position
	iterator string
}

type settings struct {
	Endpoint string `json:"endpoint"`
	Delay    int64  `json:"fetchDelayMillis"`
	Role     string `json:"awsAssumedRoleArn"`
	External string `json:"awsExternalId"`
}

// hostRegion finds the region in the name of a public endpoint.
var hostRegion = regexp.MustCompile(`^(?:https?://)?(?:[a-z0-9-]+\.)*kinesis(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.`)

// Open returns the source that config describes. It does not connect. Credentials are those of the
// machine, or of the role that they assume.
func Open(ctx context.Context, from stream.Config, access *ingest.Access, _ *slog.Logger) (*Source, error) {
	var set settings
	if len(from.IO) > 0 {
		if err := jsontext.Read(from.IO, &set); err != nil {
			return nil, fault.InvalidInput("ioConfig of a stream of Kinesis is not readable: %s", fault.JSONProblem(err))
		}
	}
	if set.Delay < 0 {
		return nil, fault.InvalidInput("Value [%d] of [fetchDelayMillis] must not be negative", set.Delay)
	}
	s := &Source{name: from.Name, delay: time.Duration(set.Delay) * time.Millisecond, clock: clock.System(), tips: map[stream.Partition]*tip{}}
	dialer := &net.Dialer{Timeout: connectTimeout}
	load := []func(*config.LoadOptions) error{}
	if access != nil {
		if access.Clock != nil {
			s.clock = access.Clock
		}
		if check := access.CheckAddress; check != nil {
			dialer.Control = func(_, address string, _ syscall.RawConn) error {
				to, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return check(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
			}
		}
		if access.Getenv != nil { // as the SDK does by itself, but for tests and for who says otherwise
			id, ok := access.Getenv("AWS_ACCESS_KEY_ID")
			key, too := access.Getenv("AWS_SECRET_ACCESS_KEY")
			if ok && too {
				token, _ := access.Getenv("AWS_SESSION_TOKEN")
				load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, key, token)))
			}
		}
	}
	s.http = &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}
	if m := hostRegion.FindStringSubmatch(set.Endpoint); m != nil {
		load = append(load, config.WithRegion(m[1]))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fault.InvalidInput("The credentials or settings for Kinesis can't be read").WithCause(err)
	}
	cfg.HTTPClient = s.http
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if set.Role != "" {
		role := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), set.Role, func(r *stscreds.AssumeRoleOptions) {
			if set.External != "" {
				r.ExternalID = &set.External
			}
		})
		cfg.Credentials = aws.NewCredentialsCache(role)
	}
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = attempts, mostPause })
	}
	s.api = kinesis.NewFromConfig(cfg, func(o *kinesis.Options) {
		if endpoint := set.Endpoint; endpoint != "" {
			if !strings.Contains(endpoint, "://") {
				endpoint = "https://" + endpoint
			}
			o.BaseEndpoint = &endpoint
		}
	})
	return s, nil
}

// Close implements stream.Source.
func (s *Source) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

const (
	connectTimeout = 10 * time.Second
	// answerTimeout bounds a request with all its attempts.
	answerTimeout = 15 * time.Second
	// attempts of a request at a service that does not answer; those that ask too often wait
	// longer.
	attempts = 4
	// leastPause is between two requests for records of a shard that has none: the service takes
	// five a second. mostPause is the longest wait after failures.
	leastPause, mostPause = 200 * time.Millisecond, 5 * time.Second
	// patience is how long a shard may fail before Poll says so.
	patience = time.Second
	// askedRecords is how many records one request may bring, bufferedBytes what a reader holds
	// before it asks for more.
	askedRecords  = 10_000
	bufferedBytes = 32 << 20
	recordBytes   = 200
	// looks bounds the requests that look for the first or last record of a shard.
	looks = 20
)
