import { announce, text } from './page-data.js'

const copiedForMs = 2_000
/** An IBAN with or without gaps. */
const iban = /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/

/** Adds buttons that copy the reference and, if the instructions contain one, the account that the customer pays to. */
export function addCopyButtons(): void {
  const list = document.querySelector('.give')
  const [account] = iban.exec(document.querySelector('.instructions')?.textContent ?? '') ?? []
  if (list && account !== undefined) list.prepend(row(text('accountNumber'), account))
  for (const value of document.querySelectorAll('.give dd')) value.after(copyButton(value.textContent ?? ''))
}

function row(label: string, value: string): HTMLElement {
  const [line, term, shown] = ['div', 'dt', 'dd'].map((name) => document.createElement(name)) as [
    HTMLElement,
    HTMLElement,
    HTMLElement,
  ]
  term.textContent = label
  shown.textContent = value
  line.append(term, shown)
  return line
}

function copyButton(value: string): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet copy'
  button.textContent = text('copy')
  button.addEventListener('click', async () => {
    // Banks expect an account number without gaps.
    const plain = iban.test(value) ? value.replaceAll(' ', '') : value
    const isCopied = await navigator.clipboard.writeText(plain).then(
      () => true,
      () => false,
    )
    const outcome = text(isCopied ? 'copied' : 'copyFailed')
    button.textContent = outcome
    announce(outcome)
    setTimeout(() => {
      button.textContent = text('copy')
    }, copiedForMs)
  })
  // A description list contains nothing else.
  const cell = document.createElement('dd')
  cell.className = 'copy-cell'
  cell.append(button)
  return cell
}
