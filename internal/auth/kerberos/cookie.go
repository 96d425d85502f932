package kerberos

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// CookieName is the name of the cookie in the interface.
	CookieName = "hadoop.auth"
	// cookieAge is how long a negotiation is good for.
	cookieAge = 10 * time.Hour
)

// signer makes and checks cookies.
type signer struct {
	key  []byte
	name string // of the authenticator, which others with the same secret may not be
}

func (s *signer) sum(text string) string {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(s.name + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// sign returns the value of a cookie.
func (s *signer) sign(user, principal string, expires time.Time) string {
	text := "u=" + url.QueryEscape(user) + "&p=" + url.QueryEscape(principal) + "&t=kerberos&e=" + strconv.FormatInt(expires.UnixMilli(), 10)
	return text + "&s=" + s.sum(text)
}

// read returns whom a cookie is of; "": it is not good, or not any more.
func (s *signer) read(value string, now time.Time) (user string) {
	at := strings.LastIndex(value, "&s=")
	if at < 0 || !hmac.Equal([]byte(value[at+len("&s="):]), []byte(s.sum(value[:at]))) {
		return ""
	}
	members, err := url.ParseQuery(value[:at])
	if err != nil {
		return ""
	}
	until, err := strconv.ParseInt(members.Get("e"), 10, 64)
	if err != nil || now.UnixMilli() >= until || members.Get("t") != "kerberos" {
		return ""
	}
	return members.Get("u")
}

// cookie has a client keep a value; "": forget it.
func cookie(value string, secure bool) string {
	c := &http.Cookie{Name: CookieName, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(cookieAge / time.Second)}
	if value == "" {
		c.MaxAge = -1
	}
	return c.String()
}
