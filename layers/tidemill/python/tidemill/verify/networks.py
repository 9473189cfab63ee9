"""Senders that sign nothing and send no secret: all that is known of a request is where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Refused, Request
from tidemill.verify.check import Check, cannot_sign


def from_networks(networks: Iterable[str]) -> Check:
    """The address of the transport must lie in one of the networks (`192.0.2.0/24`, `2001:db8::/32`, one address).

    What stands in X-Forwarded-For is the sender's word and never looked at: so nothing may stand between the sender and API
    Gateway. This says who called and not that it is true: fetch what it tells of back from the sender, in the job. Raises
    ConfigurationError that names a network that is none.
    """
    known = [_network(network) for network in networks]
    if not known:
        raise ConfigurationError("from_networks: networks must name one at least")

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        try:
            address = ip_address(request.source_ip)
        except ValueError:
            return Refused("the address of the transport is not known")
        address = getattr(address, "ipv4_mapped", None) or address
        if any(address.version == network.version and address in network for network in known):
            return Accepted()
        return Refused("the address of the transport is in none of the networks")

    return Check(judge, sign=cannot_sign("it is known by its network alone"))


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigurationError(f"from_networks: {error}") from None
