"""Invoices: "Send invoice" mails one to its customer, once; on weekdays at eight (UTC), a reminder of each overdue one."""

from psycopg.rows import namedtuple_row
from tidemill import Discard, NewJob, PermanentError, check, cron, handler

from automations.site import elsewhere, site

MAIL = ("mail", 5)  # the provider takes five requests at a time
OVER = ("paid", "cancelled")

elsewhere.append("invoice.send")


@site.route
def clicks(event):
    match event.json:
        case {"type": "invoice.send", "invoice": str(number)} if number:
            yield NewJob("invoice.send", {"invoice": number}, key=number)
        case {"type": "invoice.send"}:
            raise ValueError("invoice must be the number of an invoice, as a text")


@handler("invoice.send", limit=MAIL, timeout=20)
def send(job, ctx):
    invoice = find(job, ctx)
    if invoice.status in OVER:
        return Discard(f"invoice {invoice.number} is {invoice.status}")
    if invoice.status == "delivered":
        return None
    text = f"Dear {invoice.customer},\n\ninvoice {invoice.number} over {invoice.amount} is due on {invoice.due_on}.\n"
    mail(ctx, invoice, invoice.number, f"Invoice {invoice.number}", text)
    mark_delivered(ctx, invoice)


@cron("0 8 * * MON-FRI", tz="UTC")
@handler("invoice.overdue")
def overdue(job, ctx):
    with ctx.connection.transaction():
        found = ctx.connection.execute(
            "select number, (now() at time zone 'UTC')::date from invoices"
            " where due_on < (now() at time zone 'UTC')::date and status not in ('paid', 'cancelled') order by number"
        )
        for number, today in found.fetchall():
            day = str(job.slot.date() if job.slot else today)
            ctx.enqueue(NewJob("invoice.remind", {"invoice": number, "day": day}, key=f"{number}:{day}"))


@handler("invoice.remind", limit=MAIL, timeout=20)
def remind(job, ctx):
    invoice = find(job, ctx)
    if invoice.status in OVER:
        return Discard(f"invoice {invoice.number} is {invoice.status}")
    text = f"Dear {invoice.customer},\n\ninvoice {invoice.number} over {invoice.amount} was due on {invoice.due_on}.\n"
    mail(ctx, invoice, f"{invoice.number}:{job.payload['day']}", f"Reminder: invoice {invoice.number}", text)


def find(job, ctx):
    """The invoice of a job, complete. Raises PermanentError that says what is to be done."""
    match job.payload:
        case {"invoice": str(number)}:
            cursor = ctx.connection.cursor(row_factory=namedtuple_row)
            invoice = cursor.execute("select * from invoices where number = %s", [number]).fetchone()
        case _:
            raise PermanentError('the payload must be {"invoice": its number}')
    if invoice is None:
        raise PermanentError(f"there is no invoice {number}")
    for name in ("email", "amount"):
        if getattr(invoice, name) in (None, ""):
            raise PermanentError(f"invoice {number} has no {name}: enter it, and retry this job")
    return invoice


def mail(ctx, invoice, key, subject, text):
    """Mail the customer once under this key, whatever dies: the provider gets the same idempotency key on every attempt."""
    address = f"{ctx.settings['MAIL_API'].rstrip('/')}/messages"
    authorization = f"Bearer {ctx.settings['MAIL_API_KEY']}"

    def post(idempotency_key):
        response = ctx.http.post(
            address,
            json={"to": invoice.email, "subject": subject, "text": text},
            headers={"Authorization": authorization, "Idempotency-Key": idempotency_key},
            timeout=(5, 10),  # both fit into the handler's timeout
        )
        if response.status_code == 422:
            raise PermanentError(
                f"invoice {invoice.number}: the mail provider refuses the address {invoice.email} (422):"
                " correct it, and retry this job"
            )
        check(response, f"mail of invoice {invoice.number}")

    ctx.call_once(key, post)
    ctx.log.info("mail sent", invoice=invoice.number, subject=subject)


def mark_delivered(ctx, invoice):
    """Mark the invoice and publish that, in one transaction: neither is there without the other."""
    with ctx.connection.transaction():
        marked = ctx.connection.execute(
            "update invoices set status = case when status = 'paid' then status else 'delivered' end"
            " where number = %s and status <> 'delivered'",
            [invoice.number],
        )
        if marked.rowcount:
            ctx.publish("invoice.delivered", {"invoice": invoice.number})
