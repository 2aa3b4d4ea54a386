"""Asks AWS for the instances of a region, page by page, within bounds.

Defined in: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
boto3 finds credentials and endpoint as the AWS command line does (AWS_PROFILE, AWS_ENDPOINT_URL, an instance's role).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.domain.machine_listing import MOST_MACHINES, CannotList, Machine, Place
from bot.domain.safe_text import redacted_line

_A_PAGE = 500
_MOST_PAGES = 2 * MOST_MACHINES // _A_PAGE
_FACTS = {
    "private_ip": "PrivateIpAddress",
    "private_dns": "PrivateDnsName",
    "public_ip": "PublicIpAddress",
    "public_dns": "PublicDnsName",
    "instance_type": "InstanceType",
    "image": "ImageId",
}
_RUNNING = {"instance-state-name": ["running"]}


def instances(place: Place) -> tuple[Machine, ...]:
    """Return the running instances of a region that fit the filters.

    Shape: `place.asked` holds `filters`, lists of texts by the filter's name, and `profile`, empty for the default.
    Raises: CannotList with the instances received, when AWS throttles, refuses, does not answer, or has too many pages.
    """
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError
    except ImportError as error:
        raise CannotList("EC2 cannot be asked: the extra ec2 is not installed") from error

    # Three tries wait up to two seconds between them; with more, a person at a terminal would wait for a throttled API.
    bounds = Config(connect_timeout=3, read_timeout=8, retries={"mode": "standard", "total_max_attempts": 3})
    found: list[Machine] = []
    try:
        session = boto3.Session(profile_name=place.asked.get("profile") or None, region_name=place.name)
        asked = _RUNNING | dict(_filters(place.asked))
        wanted = [{"Name": name, "Values": values} for name, values in asked.items()]
        client = session.client("ec2", config=bounds)
        try:
            for page in _pages(client, wanted, found):
                found += page
        finally:
            client.close()
    except ClientError as error:
        said = error.response.get("Error", {})
        raise CannotList(f"AWS answers {said.get('Code', '?')}: {redacted_line(str(error), 200)}", found) from error
    except (BotoCoreError, OSError) as error:
        raise CannotList(f"AWS cannot be asked: {redacted_line(str(error), 200)}", found) from error
    except (ResponseParserError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CannotList(f"AWS's answer is not a list of instances ({type(error).__name__})", found) from error
    return tuple(found)


def _filters(asked: Mapping[str, object]) -> Mapping[str, list[str]]:
    filters = asked.get("filters")
    return filters if isinstance(filters, dict) else {}


def _pages(client: Any, wanted: Sequence[Mapping[str, Any]], found: Sequence[Machine]) -> Iterator[list[Machine]]:
    """Yield the pages; `found` are the instances so far. A repeated page ends the list."""
    token, seen = "", set[str]()
    for _ in range(_MOST_PAGES):
        more = {"NextToken": token} if token else {}
        answer = client.describe_instances(Filters=wanted, MaxResults=_A_PAGE, **more)
        yield [_machine(instance) for group in answer.get("Reservations", []) for instance in group["Instances"]]
        token = answer.get("NextToken") or ""
        if not token:
            return
        if token in seen or len(found) > MOST_MACHINES:
            break
        seen.add(token)
    raise CannotList("AWS's list of instances has too many pages, and was cut off", found)


def _machine(instance: Mapping[str, Any]) -> Machine:
    facts = {name: str(instance[key]) for name, key in _FACTS.items() if instance.get(key)}
    zone = instance.get("Placement", {}).get("AvailabilityZone")
    tags = {str(tag["Key"]): str(tag.get("Value", "")) for tag in instance.get("Tags", [])}
    return Machine(str(instance["InstanceId"]), facts | ({"az": str(zone)} if zone else {}), tags)
