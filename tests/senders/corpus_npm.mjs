// What the senders' packages on npm say of requests: [{sender, headers, body, secret, certificate, now}] on the standard input,
// bodies in base64, seconds in `now`; on the standard output a list of true and false. That a package raises means no.
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import https from "node:https";
import process from "node:process";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { verifyWebhookSignature } from "@notionhq/client";
import { verify } from "@octokit/webhooks-methods";
import MessageValidator from "sns-validator";

let certificate = "";
https.get = (url, answered) => {
  const response = Object.assign(new EventEmitter(), { statusCode: 200 });
  answered(response);
  response.emit("data", Buffer.from(certificate));
  response.emit("end");
  return new EventEmitter();
};

const judges = {
  github: ({ headers, secret }, body) => verify(secret, body.toString(), headers["x-hub-signature-256"]),
  notion: ({ headers, secret }, body) =>
    verifyWebhookSignature({ body, signature: headers["x-notion-signature"], verificationToken: secret }),
  linear: ({ headers, secret }, body) => new LinearWebhookClient(secret).verify(body, headers["linear-signature"]),
  sns: (given, body) =>
    new Promise((resolve) => new MessageValidator().validate(body.toString(), (error) => resolve(!error))),
};

let text = "";
for await (const piece of process.stdin) text += piece;
const answers = [];
for (const given of JSON.parse(text)) {
  Date.now = () => given.now * 1000;
  certificate = given.certificate;
  try {
    answers.push(await judges[given.sender](given, Buffer.from(given.body, "base64")));
  } catch {
    answers.push(false);
  }
}
process.stdout.write(JSON.stringify(answers));
