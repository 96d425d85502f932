package budget

// Account follows the size of one growing thing: Set it to the present size and it reserves or
// releases the difference. It belongs to one goroutine. The zero Account counts nowhere.
type Account struct {
	b    *Budget
	held int64
}

// NewAccount returns an empty account that reserves from b.
func NewAccount(b *Budget) Account { return Account{b: b} }

// Set changes the account to n bytes. When it fails the account is as before.
func (a *Account) Set(n int64) error {
	if n > a.held {
		if err := a.b.Reserve(n - a.held); err != nil {
			return err
		}
	} else {
		a.b.Release(a.held - n)
	}
	a.held = n
	return nil
}

// TrySet is Set that reports whether it fitted.
func (a *Account) TrySet(n int64) bool {
	if n > a.held && !a.b.TryReserve(n-a.held) {
		return false
	}
	if n < a.held {
		a.b.Release(a.held - n)
	}
	a.held = n
	return true
}

// Held returns the bytes reserved.
func (a *Account) Held() int64 { return a.held }

// Close releases all.
func (a *Account) Close() {
	a.b.Release(a.held)
	a.held = 0
}
