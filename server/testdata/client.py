"""Submits, follows, retries and exports through the generated client. Arguments: address, key."""
import sys

from redrive_client import AuthenticatedClient
from redrive_client.api.dead_letters import export_dead_letters, get_dead_letter, list_dead_letters
from redrive_client.api.jobs import explain_job, get_job, list_jobs, retry_job, submit_jobs
from redrive_client.models import ChangeJobIn, ExportDeadLettersFormat, JobIn, Problem, Receipt

c = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)


def submit(key, **fields):
    body = JobIn.from_dict({"kind": "render", "payload": {"image": "cat.png", "size": [2**63, 1.5]}, **fields})
    return submit_jobs.sync(client=c, body=body, idempotency_key=key)


first, again = submit("cat"), submit("cat")
assert isinstance(first, Receipt) and not first.existing, first
assert isinstance(again, Receipt) and again.existing and again.id == first.id, again

refused = submit("dog", priority=9)
assert isinstance(refused, Problem) and refused.errors[0].pointer == "/priority", refused

seen = get_job.sync(first.id, client=c, wait="30s")
assert seen.job.state == "dead" and seen.failures[0].message == "no such image", seen
assert explain_job.sync(first.id, client=c).standing.startswith("Dead since"), first.id
assert [job.id for job in list_jobs.sync(client=c).items] == [first.id]
assert list_dead_letters.sync(client=c).entries[0].job_id == first.id

moved = retry_job.sync(first.id, client=c, body=ChangeJobIn.from_dict({"note": "mended"}))
assert moved.life == 2, moved
seen = get_job.sync(first.id, client=c, wait="30s")
assert seen.job.state == "dead" and seen.job.life == 2, seen

entry = get_dead_letter.sync(first.id, client=c)
exported = export_dead_letters.sync(client=c, format_=ExportDeadLettersFormat.JSON)
assert [e.job_id for e in exported] == [entry.job_id] == [first.id], exported
print("submitted, retried and exported job", first.id)
