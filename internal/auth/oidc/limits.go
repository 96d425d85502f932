package oidc

import "time"

const (
	// leeway is by how much the clocks of the provider and of this process may differ.
	leeway = time.Minute

	// discoverPause and maxDiscoverPause are the times between two tries to reach the provider.
	discoverPause, maxDiscoverPause = time.Second, 15 * time.Second
	// fetchTime bounds one exchange with the provider.
	fetchTime = 10 * time.Second
	// keysPause is the shortest time between two fetches of the keys, keysAge how old they get.
	keysPause, keysAge = time.Second, 5 * time.Minute
	// maxAnswer bounds what is read of an answer of the provider.
	maxAnswer = 1 << 20
	// maxToken bounds a token.
	maxToken = 64 << 10
	// maxName bounds the name of a user, maxClaims how many claims become attributes, maxDepth how
	// deep they are.
	maxName, maxClaims, maxDepth = 255, 200, 5

	// loginTime is how long a log in may take at the provider.
	loginTime = 10 * time.Minute
	// refreshAhead is how long before a token ends a session gets another one.
	refreshAhead = 30 * time.Second
	// renewTime bounds how long a process keeps others from replacing a token, renewPause is the time
	// between two looks whether it has.
	renewTime, renewPause = fetchTime + 5*time.Second, 50 * time.Millisecond
	// touchTime is how often it is noted that a session is used.
	touchTime = time.Minute
	// clockSlack is how much longer sessions are kept than they are good: the store has its own clock.
	clockSlack = time.Hour
	// maxReturn bounds the path that a browser comes back to.
	maxReturn = 2000
)
