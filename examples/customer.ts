import { strict as assert } from 'node:assert'

/** As `transferd outbox list` shows them. */
export interface Message {
  readonly kind: 'sms' | 'email'
  readonly to: string
  readonly code: string | null
  readonly link: string | null
}

const pollMs = 200

/** A customer with a wallet, who does what a browser would do, without one. */
export class Customer {
  constructor(
    private readonly email: string,
    private readonly password: string,
    /** Phone and mailbox, newest first. */
    private readonly messages: () => Promise<readonly Message[]>,
    private readonly say: (line: string) => void,
  ) {}

  /** Pays on the payment page: what its script asks is asked here. */
  async payOnPage(url: string): Promise<void> {
    assert.equal((await fetch(url)).status, 200, 'the page opens')
    this.say('  the customer logs in on the page')
    const { token } = await this.step(url, 'login', { email: this.email, password: this.password })
    let done = await this.step(url, 'code', { token, code: await this.code() })
    if (done.next === 'device') {
      await this.confirmDevice()
      const { token: deviceToken } = done
      do {
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        done = await this.step(url, 'device', { token: deviceToken })
      } while (done.next === 'wait')
    }
    assert.equal(done.next, 'result', 'it is paid')
  }

  /** Pays on the shop's own pages. */
  async payInShop(orderUrl: string): Promise<void> {
    this.say("  the customer logs in on the shop's page")
    await this.type(orderUrl, { email: this.email, password: this.password })
    await this.type(orderUrl, { code: await this.code() })
  }

  /** Of the newest text message. */
  private async code(): Promise<string> {
    const message = (await this.messages()).find(({ kind }) => kind === 'sms')
    assert.ok(message?.code, 'a code was sent')
    this.say(`  and types the code of the text message to ${message.to}`)
    return message.code
  }

  /** Presses the button of the e-mail, and the one of the page it leads to. */
  private async confirmDevice(): Promise<void> {
    const message = (await this.messages()).find(({ kind }) => kind === 'email')
    assert.ok(message?.link, 'an e-mail was sent')
    this.say(`  pays here for the first time, so confirms it from the e-mail to ${message.to}`)
    assert.equal((await fetch(message.link, { method: 'POST' })).status, 200, 'the device is confirmed')
  }

  private async step(
    url: string,
    name: string,
    body: object,
  ): Promise<{ readonly next: string; readonly token: string }> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const answer = await response.json()
    assert.equal(response.status, 200, `${name}: ${JSON.stringify(answer)}`)
    return answer as { readonly next: string; readonly token: string }
  }

  private async type(orderUrl: string, fields: { readonly [name: string]: string }): Promise<void> {
    const response = await fetch(`${orderUrl}/pay`, { method: 'POST', body: new URLSearchParams(fields) })
    assert.equal(response.status, 200, 'the shop takes it')
  }
}
