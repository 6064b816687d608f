import { announce, text } from './page-data.js'

/** The form of a step, with its fields and errors. It shows whether a request is in progress. */
export class StepForm {
  private readonly button: HTMLButtonElement
  private readonly label: string
  private busy = false

  constructor(readonly form: HTMLFormElement) {
    this.button = form.querySelector('button[type=submit]') as HTMLButtonElement
    this.label = this.button.textContent ?? ''
  }

  field(name: string): HTMLInputElement {
    return this.form.elements.namedItem(name) as HTMLInputElement
  }

  /** Runs the step on submit, unless an earlier submit is still in progress. The button keeps the focus. */
  onSubmit(step: () => Promise<void>): void {
    this.form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (!this.busy) void this.whileBusy(step)
    })
  }

  /** Shows errors at fields and moves the focus to the first one. Returns whether there are any. */
  showErrors(problems: readonly { readonly field: string; readonly problem: string }[]): boolean {
    this.clearErrors()
    for (const { field, problem } of problems) {
      this.field(field).setAttribute('aria-invalid', 'true')
      this.errorOf(field).textContent = problem
    }
    const first = problems[0]
    if (first) this.field(first.field).focus()
    return first !== undefined
  }

  /** Shows an error about the whole form, which screen readers announce. */
  showFailure(message: string): void {
    this.clearErrors()
    const box = this.form.querySelector('.failure')
    if (box) box.textContent = message
  }

  clearErrors(): void {
    const box = this.form.querySelector('.failure')
    if (box) box.textContent = ''
    for (const input of this.form.querySelectorAll('input[aria-invalid]')) {
      input.removeAttribute('aria-invalid')
      this.errorOf((input as HTMLInputElement).name).textContent = ''
    }
  }

  private errorOf(field: string): Element {
    return this.form.querySelector(`#${field}-error`) as Element
  }

  private async whileBusy(step: () => Promise<void>): Promise<void> {
    this.busy = true
    this.button.setAttribute('aria-disabled', 'true')
    this.button.textContent = text('busy')
    announce(text('busy'))
    try {
      await step()
    } finally {
      this.busy = false
      this.button.removeAttribute('aria-disabled')
      this.button.textContent = this.label
      announce('')
    }
  }
}
