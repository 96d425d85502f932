package keystore

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"time"
)

// revoked are the lists of revoked certificates of a file.
type revoked struct{ lists []*x509.RevocationList }

// readRevoked reads a file of lists, each PEM or DER.
func readRevoked(path, property string) (*revoked, []byte, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > storeBytes {
		return nil, nil, problem(property, "file [%s] is not readable", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, problem(property, "file [%s] is not readable", path)
	}
	out := &revoked{}
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		list, err := x509.ParseRevocationList(data)
		if err != nil {
			return nil, nil, problem(property, "file [%s] is not a list of revoked certificates", path)
		}
		out.lists = append(out.lists, list)
		return out, data, nil
	}
	for text := data; ; {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "X509 CRL" {
			continue
		}
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return nil, nil, problem(property, "a list of file [%s] is not readable", path)
		}
		out.lists = append(out.lists, list)
	}
	if len(out.lists) == 0 {
		return nil, nil, problem(property, "file [%s] is not a list of revoked certificates", path)
	}
	return out, data, nil
}

// check refuses a certificate if in each of its chains one is revoked, or can't be looked up: then
// it is not known whether it is.
func (r *revoked) check(chains [][]*x509.Certificate, now time.Time) (err error) {
	for _, chain := range chains {
		if err = r.checkChain(chain, now); err == nil {
			return nil
		}
	}
	return err
}

func (r *revoked) checkChain(chain []*x509.Certificate, now time.Time) error {
	for i := range len(chain) - 1 { // the last one is trusted itself
		if err := r.checkOne(chain[i].SerialNumber, chain[i+1], now); err != nil {
			return fmt.Errorf("certificate [%s]: %w", chain[i].Subject, err)
		}
	}
	return nil
}

func (r *revoked) checkOne(serial *big.Int, issuer *x509.Certificate, now time.Time) error {
	err := errUnchecked
	for _, list := range r.lists {
		if !bytes.Equal(list.RawIssuer, issuer.RawSubject) || list.CheckSignatureFrom(issuer) != nil {
			continue
		}
		for _, e := range list.RevokedCertificateEntries {
			if e.SerialNumber.Cmp(serial) == 0 {
				return fmt.Errorf("it was revoked at [%s]", e.RevocationTime.UTC().Format(time.RFC3339))
			}
		}
		if list.NextUpdate.IsZero() || now.Before(list.NextUpdate) {
			err = nil
		} else if err != nil {
			err = fmt.Errorf("the list of revoked certificates of its issuer is of no use since [%s]", list.NextUpdate.UTC().Format(time.RFC3339))
		}
	}
	return err
}
