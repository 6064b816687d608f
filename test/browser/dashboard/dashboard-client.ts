/** Of everybody in the tests. */
export const password = 'correct horse battery'

export interface Answered<Body> {
  readonly status: number
  readonly body: Body
}

/** Somebody who is signed in, without a browser. */
export class Person {
  readonly cookie: { readonly name: string; readonly value: string }
  readonly #baseUrl: string
  readonly #csrfToken: string

  private constructor(baseUrl: string, cookie: Person['cookie'], csrfToken: string) {
    this.cookie = cookie
    this.#baseUrl = baseUrl
    this.#csrfToken = csrfToken
  }

  static async signIn(
    baseUrl: string,
    email: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<Person> {
    const answer = await fetch(`${baseUrl}/dashboard/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: baseUrl, ...headers },
      body: JSON.stringify({ email, password }),
    })
    if (answer.status !== 200) throw new Error(`${email} is not signed in: ${await answer.text()}`)
    const { csrfToken } = (await answer.json()) as { csrfToken: string }
    for (const header of answer.headers.getSetCookie()) {
      const [, name, value] = /^((?:__Host-)?transferd)=([^;]+)/.exec(header) ?? []
      if (name !== undefined && value !== undefined) return new Person(baseUrl, { name, value }, csrfToken)
    }
    throw new Error('there is no cookie')
  }

  get<Body>(path: string): Promise<Answered<Body>> {
    return this.#ask('GET', path)
  }

  send<Body = unknown>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<Answered<Body>> {
    return this.#ask(method, path, body)
  }

  async #ask<Body>(method: string, path: string, body?: object): Promise<Answered<Body>> {
    const { name, value } = this.cookie
    const answer = await fetch(`${this.#baseUrl}/dashboard/api${path}`, {
      method,
      headers: {
        cookie: `${name}=${value}`,
        origin: this.#baseUrl,
        'x-csrf-token': this.#csrfToken,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as Body }
  }
}
