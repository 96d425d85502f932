{{- define "henge.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "henge.selector" -}}
app.kubernetes.io/name: henge
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "henge.labels" -}}
{{ include "henge.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "henge.port" -}}
{{- get (dict "single" 8888 "router" 8888 "coordinator" 8081 "broker" 8082 "historical" 8083 "overlord" 8090 "worker" 8091) . -}}
{{- end }}

{{/* The stateful set of a component: single, or a role of a cluster. Needs root, component, replicas, storage, resources. */}}
{{- define "henge.statefulset" -}}
{{- $port := include "henge.port" .component -}}
{{- $name := printf "%s-%s" (include "henge.name" .root) .component -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels: {{- include "henge.labels" . | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  serviceName: {{ $name }}
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{- include "henge.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "henge.labels" . | nindent 8 }}
      annotations:
        henge/settings: {{ include (print .root.Template.BasePath "/settings.yaml") .root | sha256sum }}
        {{- with $values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      {{- with $values.serviceAccount.name }}
      serviceAccountName: {{ . }}
      {{- end }}
      automountServiceAccountToken: {{ $values.serviceAccount.automount }}
      {{- with $values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      terminationGracePeriodSeconds: {{ if eq .component "worker" }}{{ add $values.drain.workerSeconds $values.drain.graceSeconds }}{{ else }}{{ $values.drain.graceSeconds }}{{ end }}
      {{- if and $values.spread (gt (int .replicas) 1) }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "henge.selector" . | nindent 14 }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: henge
          image: {{ printf "%s:%s" $values.image.repository (default .root.Chart.AppVersion $values.image.tag) | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args:
            - server
            {{- if ne .component "single" }}
            - {{ .component }}
            {{- end }}
            - --config
            - /etc/henge/henge.properties
            - --data
            - /var/lib/henge
          ports:
            - name: http
              containerPort: {{ $port }}
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: service_host
              value: $(POD_NAME).{{ $name }}.$(POD_NAMESPACE).svc
            {{- if eq $values.mode "cluster" }}
            {{- with $values.postgresql.passwordSecret }}
            {{- if .name }}
            - name: HENGE_METASTORE_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ .name }}
                  key: {{ .key }}
            {{- end }}
            {{- end }}
            {{- with $values.s3.keysSecret }}
            {{- if .name }}
            - name: AWS_ACCESS_KEY_ID
              valueFrom:
                secretKeyRef:
                  name: {{ .name }}
                  key: {{ .accessKey }}
            - name: AWS_SECRET_ACCESS_KEY
              valueFrom:
                secretKeyRef:
                  name: {{ .name }}
                  key: {{ .secretKey }}
            {{- end }}
            {{- end }}
            {{- end }}
            {{- with $values.env }}{{ toYaml . | nindent 12 }}{{ end }}
          startupProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 2
            failureThreshold: 150
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 5
            timeoutSeconds: 5
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 10
            timeoutSeconds: 10
            failureThreshold: 6
          {{- if and (eq .component "worker") (gt (int $values.drain.workerSeconds) 0) }}
          lifecycle:
            preStop:
              exec:
                command: [/usr/bin/henge, drain, --server, "http://localhost:{{ $port }}", --wait, "{{ $values.drain.workerSeconds }}s"]
          {{- end }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- with .resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/henge
            - name: settings
              mountPath: /etc/henge
              readOnly: true
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: settings
          configMap:
            name: {{ include "henge.name" .root }}
        - name: tmp
          emptyDir: {}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ .storage }}
{{- end }}

{{/* The headless service by which processes reach the pods of a component one by one. */}}
{{- define "henge.headless" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ printf "%s-%s" (include "henge.name" .root) .component }}
  labels: {{- include "henge.labels" . | nindent 4 }}
spec:
  clusterIP: None
  # Processes find each other before they are ready.
  publishNotReadyAddresses: true
  selector: {{- include "henge.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ include "henge.port" .component }}
      targetPort: http
{{- end }}
