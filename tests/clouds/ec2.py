"""moto's EC2 on loopback, by the real protocol, and a door before it at which it can be made to misbehave.

moto and boto3 take long to load, so they are loaded where they are used.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

REGION, OTHER_REGION = "us-east-1", "eu-west-1"
_IMAGE = "ami-12c6146b"  # one that moto knows
THROTTLED = (
    503,
    b"<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors><RequestID>1</RequestID></Response>",
)
GARBAGE = (200, b"<DescribeInstancesResponse><reservationSet><item><instancesSet>no")
ENDLESS = (
    200,
    b"<DescribeInstancesResponse><reservationSet/><nextToken>again</nextToken></DescribeInstancesResponse>",
)


@dataclass(slots=True)
class Ec2:
    """The server: `instead` says by region what is answered in moto's place; `asked` is every region asked."""

    url: str = ""
    instead: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What leads boto3 there, and nowhere else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def empty(self) -> None:
        """Forget everything that was started and asked."""
        from moto.backends import get_backend
        from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT

        for backend in get_backend("ec2")[ACCOUNT].values():
            backend.reset()
        self.instead.clear()
        self.asked.clear()

    def client(self, region: str = REGION) -> Any:
        """Return a client of its own for the test."""
        import boto3

        return boto3.client(
            "ec2",
            region_name=region,
            endpoint_url=self.url,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def run(self, count: int = 1, region: str = REGION, **tags: str) -> list[str]:
        """Start instances with these tags and return their ids."""
        written = [{"Key": key, "Value": value} for key, value in tags.items()]
        specification = [{"ResourceType": "instance", "Tags": written}] if written else []
        answer = self.client(region).run_instances(
            ImageId=_IMAGE,
            InstanceType="p4d.24xlarge",
            MinCount=count,
            MaxCount=count,
            TagSpecifications=specification,
        )
        return [instance["InstanceId"] for instance in answer["Instances"]]

    def answer(
        self, app: Callable[..., Iterable[bytes]], environ: Mapping[str, Any], start: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request: by what stands in for the region, else by moto."""
        found = re.search(r"/([a-z0-9-]+)/ec2/", environ.get("HTTP_AUTHORIZATION", ""))
        region = found[1] if found else ""
        self.asked.append(region)
        if region in self.instead:
            status, body = self.instead[region]
            start(f"{status} So", [("Content-Type", "text/xml"), ("Content-Length", str(len(body)))])
            return [body]
        return app(environ, start)


@contextmanager
def ec2_running() -> Iterator[Ec2]:
    """Serve EC2 for the length of a block."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    ec2, app = Ec2(), DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, lambda environ, start: ec2.answer(app, environ, start), threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    ec2.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield ec2
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
