import { strict as assert } from 'node:assert'

/** A message in the output of `transferd outbox list`. */
export interface Message {
  readonly kind: 'sms' | 'email'
  readonly to: string
  readonly code: string | null
  readonly link: string | null
}

const pollMs = 200

/** A customer with a wallet, who sends the requests that a browser would send. */
export class Customer {
  constructor(
    private readonly email: string,
    private readonly password: string,
    /** Returns the messages of the phone and the mailbox, newest first. */
    private readonly messages: () => Promise<readonly Message[]>,
    private readonly say: (line: string) => void,
  ) {}

  /** Pays on the payment page with the requests of its script. */
  async payOnPage(url: string): Promise<void> {
    assert.equal((await fetch(url)).status, 200, 'the payment page loads')
    this.say('  the customer logs in on the page')
    const { token } = await this.step(url, 'login', { email: this.email, password: this.password })
    let step = await this.step(url, 'code', { token, code: await this.code() })
    if (step.next === 'device') {
      await this.confirmDevice()
      const { token: deviceToken } = step
      do {
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        step = await this.step(url, 'device', { token: deviceToken })
      } while (step.next === 'wait')
    }
    assert.equal(step.next, 'result', 'the deposit is paid')
  }

  /** Pays on the shop's own pages. */
  async payInShop(orderUrl: string): Promise<void> {
    this.say("  the customer logs in on the shop's page")
    await this.type(orderUrl, { email: this.email, password: this.password })
    await this.type(orderUrl, { code: await this.code() })
  }

  /** Returns the code in the newest text message. */
  private async code(): Promise<string> {
    const message = (await this.messages()).find(({ kind }) => kind === 'sms')
    assert.ok(message?.code, 'a code was sent')
    this.say(`  and types the code of the text message to ${message.to}`)
    return message.code
  }

  /** Confirms the device with the link in the email and the button on its page. */
  private async confirmDevice(): Promise<void> {
    const message = (await this.messages()).find(({ kind }) => kind === 'email')
    assert.ok(message?.link, 'an email was sent')
    this.say(`  confirms the new device with the email to ${message.to}`)
    assert.equal((await fetch(message.link, { method: 'POST' })).status, 200, 'the device is confirmed')
  }

  private async step(
    url: string,
    name: string,
    body: object,
  ): Promise<{ readonly next: string; readonly token: string }> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const result = await response.json()
    assert.equal(response.status, 200, `${name}: ${JSON.stringify(result)}`)
    return result as { readonly next: string; readonly token: string }
  }

  private async type(orderUrl: string, fields: { readonly [name: string]: string }): Promise<void> {
    const response = await fetch(`${orderUrl}/pay`, { method: 'POST', body: new URLSearchParams(fields) })
    assert.equal(response.status, 200, 'the shop accepts the input')
  }
}
