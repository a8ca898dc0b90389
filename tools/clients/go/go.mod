module actlog/verify

go 1.24.0

require (
	filippo.io/edwards25519 v1.2.0
	filippo.io/torchwood v0.9.0
	github.com/cloudflare/circl v1.6.1
	github.com/transparency-dev/merkle v0.0.2
	golang.org/x/mod v0.31.0
)

require (
	golang.org/x/crypto v0.46.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
)
