import { useState } from 'react'
import { useText } from '../../app/texts'
import { FileField } from '../../components/FileField'
import { Segments } from '../../components/Segments'
import { TextField } from '../../components/TextField'

interface ReceiptFieldsProps {
  readonly required?: boolean
  /** The user has just opened the fields. */
  readonly autoFocus?: boolean
}

/** A link, or a file that the service stores. */
export function ReceiptFields({ required = false, autoFocus = false }: ReceiptFieldsProps) {
  const text = useText()
  const [as, setAs] = useState('link')
  return (
    <div className="stack">
      <Segments
        label={text('fields.receiptUrl')}
        options={[
          { value: 'link', label: text('transfer.receiptAsLink') },
          { value: 'file', label: text('transfer.receiptAsFile') },
        ]}
        value={as}
        onChange={setAs}
      />
      {as === 'file' ? (
        <FileField
          name="receiptFile"
          label={text('transfer.receiptFile')}
          accept="application/pdf,image/png,image/jpeg"
          description={text('transfer.receiptFileHelp')}
          required={required}
        />
      ) : (
        <TextField
          name="receiptUrl"
          kind="url"
          label={text('transfer.receiptLink')}
          required={required}
          autoFocus={autoFocus}
        />
      )}
    </div>
  )
}
