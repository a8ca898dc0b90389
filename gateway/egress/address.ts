// Which addresses of the network a caller's address may lead to: public ones, and networks that the
// operator has allowed. RFC 6890; gateway/API.md §11.

import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** One network in CIDR notation, parsed. */
export type Network = readonly [Address, number];

/** IPv6 that is routed at all is in here (RFC 4291 §2.4); whatever a list of special ranges forgets is not. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Inside of it, but for documents only (RFC 9637) or not of this kind (RFC 8155, AS 112 and the like). */
const SPECIAL_IPV6 = [ipaddr.IPv6.parseCIDR('3fff::/20'), ipaddr.IPv6.parseCIDR('2001::/23')];

/** `10.0.0.0/8`; throws on what is none, or has bits set after its prefix. */
export function parseNetwork(text: string): Network {
  const [address, bits] = ipaddr.parseCIDR(text);
  const first =
    address.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(text)
      : ipaddr.IPv6.networkAddressFromCIDR(text);
  if (first.toNormalizedString() !== address.toNormalizedString()) {
    throw new Error(`has bits after its prefix, the network is ${first.toString()}`);
  }
  return [address, bits];
}

/** Whether a literal address, IPv4 or IPv6, may be connected to. What does not parse may not. */
export function mayConnect(literal: string, allowed: readonly Network[]): boolean {
  // Four decimals only: other spellings are read differently by different parsers.
  if (!ipaddr.IPv6.isValid(literal) && !ipaddr.IPv4.isValidFourPartDecimal(literal)) return false;
  // ::ffff:10.0.0.1 is 10.0.0.1 to the system that connects.
  const address = ipaddr.process(literal);
  if (allowed.some((network) => within(address, network))) return true;
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return true;
  return within(address, GLOBAL_IPV6) && !SPECIAL_IPV6.some((network) => within(address, network));
}

function within(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match([network, bits] as never);
}
