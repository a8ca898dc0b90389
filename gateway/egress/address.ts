// Decides to which network addresses a caller's URL may lead: public ones, and networks that the operator has allowed.
// RFC 6890; gateway/API.md §11.

import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** One network in CIDR notation, parsed. */
export type Network = readonly [Address, number];

/**
 * The globally routed range of IPv6 (RFC 4291 §2.4). Addresses outside are refused without a list of special ranges.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Ranges inside it that are not global: documentation (RFC 9637) and IETF protocol assignments (RFC 2928). */
const SPECIAL_IPV6 = [ipaddr.IPv6.parseCIDR('3fff::/20'), ipaddr.IPv6.parseCIDR('2001::/23')];

/** `10.0.0.0/8`; throws for a text that is not a network or has bits set after its prefix. */
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

/** Whether connecting to a literal IPv4 or IPv6 address is allowed. A text that does not parse is not. */
export function mayConnect(literal: string, allowed: readonly Network[]): boolean {
  // Four decimal numbers only, because parsers disagree about other spellings.
  if (!ipaddr.IPv6.isValid(literal) && !ipaddr.IPv4.isValidFourPartDecimal(literal)) return false;
  // The operating system connects ::ffff:10.0.0.1 to 10.0.0.1.
  const address = ipaddr.process(literal);
  if (allowed.some((network) => within(address, network))) return true;
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return true;
  return within(address, GLOBAL_IPV6) && !SPECIAL_IPV6.some((network) => within(address, network));
}

function within(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match([network, bits] as never);
}

/** The literal address in the host of a URL, which has IPv6 addresses in brackets; another host as it is. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');
