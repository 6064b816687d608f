/** The password of every user in the tests. */
export const password = 'correct horse battery'

interface ApiResponse<Body> {
  readonly status: number
  readonly body: Body
}

/** Calls the dashboard's API as a signed-in user, without a browser. */
export class DashboardClient {
  readonly cookie: { readonly name: string; readonly value: string }
  readonly #baseUrl: string
  readonly #origin: string
  readonly #csrfToken: string

  private constructor(baseUrl: string, cookie: DashboardClient['cookie'], csrfToken: string) {
    this.cookie = cookie
    this.#baseUrl = baseUrl
    this.#origin = new URL(baseUrl).origin
    this.#csrfToken = csrfToken
  }

  static async signIn(
    baseUrl: string,
    email: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<DashboardClient> {
    const response = await fetch(`${baseUrl}/dashboard/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: new URL(baseUrl).origin, ...headers },
      body: JSON.stringify({ email, password }),
    })
    if (response.status !== 200) throw new Error(`${email} could not sign in: ${await response.text()}`)
    const { csrfToken } = (await response.json()) as { csrfToken: string }
    for (const header of response.headers.getSetCookie()) {
      const [, name, value] = /^((?:__Host-)?transferd)=([^;]+)/.exec(header) ?? []
      if (name !== undefined && value !== undefined) return new DashboardClient(baseUrl, { name, value }, csrfToken)
    }
    throw new Error('the response has no session cookie')
  }

  get<Body>(path: string): Promise<ApiResponse<Body>> {
    return this.#request('GET', path)
  }

  send<Body = unknown>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<ApiResponse<Body>> {
    return this.#request(method, path, undefined, body && JSON.stringify(body))
  }

  upload<Body>(method: 'POST' | 'PUT', path: string, type: string, content: Buffer): Promise<ApiResponse<Body>> {
    return this.#request(method, path, type, content)
  }

  /** Downloads a file, with a POST if the request has a body. */
  async file(path: string, body?: object): Promise<{ readonly name: string; readonly text: string }> {
    const response = await this.#fetch(body ? 'POST' : 'GET', path, undefined, body && JSON.stringify(body))
    return { name: response.headers.get('content-disposition') ?? '', text: await response.text() }
  }

  async #request<Body>(
    ...request: readonly [method: string, path: string, type?: string, body?: string | Buffer]
  ): Promise<ApiResponse<Body>> {
    const response = await this.#fetch(...request)
    const text = await response.text()
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as Body }
  }

  #fetch(method: string, path: string, type = 'application/json', body?: string | Buffer): Promise<Response> {
    const { name, value } = this.cookie
    return fetch(`${this.#baseUrl}/dashboard/api${path}`, {
      method,
      headers: {
        cookie: `${name}=${value}`,
        origin: this.#origin,
        'x-csrf-token': this.#csrfToken,
        ...(body && { 'content-type': type }),
      },
      ...(body && { body }),
    })
  }
}
