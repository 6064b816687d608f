import { useText } from '../app/texts'

/** What a merchant or customer wrote is a link only where it leads to a page. */
export function ReceiptLink({ url }: { url: string }) {
  const text = useText()
  if (!/^https?:\/\//i.test(url)) return <bdi>{url}</bdi>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <span className="screen-only">{text('transfer.openReceipt')}</span>
      <bdi className="print-only">{url}</bdi>
    </a>
  )
}
