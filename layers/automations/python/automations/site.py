"""The site's forms: a JSON object, signed with SITE_WEBHOOK_SECRET, appears in the log."""

from tidemill import NewJob, Source, handler
from tidemill.verify import header, hmac_sha256

site = Source(
    "site",
    verify=hmac_sha256("X-Signature", secret="SITE_WEBHOOK_SECRET"),
    dedup_key=header("X-Delivery-Id"),
)
elsewhere: list[str] = []  # types of messages that are no forms: a module adds its own, and takes them by a route of its own


@site.route
def forms(event):
    if not isinstance(event.json, dict):
        raise ValueError(f"a form must be a JSON object, not {type(event.json).__name__}")
    if event.json.get("type") not in elsewhere:
        yield NewJob("site.form", event.json)


@handler("site.form")
def log_form(job, ctx):
    ctx.log.info("form", form=job.payload)
